import { readFileSync } from 'node:fs';
import path from 'node:path';

const PAGE = path.resolve(import.meta.dirname, '../../packages/docs/tutorial/first-service.md');

/** The commands of the tutorial by section: the blocks that are marked as a shell's. */
const sections = new Map(
  readFileSync(PAGE, 'utf8')
    .split(/^## /m)
    .slice(1)
    .map((section) => [section.slice(0, section.indexOf('\n')), commandsIn(section)]),
);

function commandsIn(section: string): string {
  return [...section.matchAll(/^( *)```sh\n([\s\S]*?)^\1```$/gm)]
    .map(([, indent = '', code = '']) => code.replaceAll(new RegExp(`^${indent}`, 'gm'), ''))
    .join('');
}

export function commandsOf(section: string): string {
  const code = sections.get(section);
  if (!code) throw new Error(`The page has no commands in a section ${section}`);
  return code;
}
