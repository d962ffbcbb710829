import { existsSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { anchorOf } from '../../packages/docs/src/anchors.ts';
import { ROOT, repositoryFiles } from './sources.ts';

const pages = new Map(
  repositoryFiles()
    .filter(({ path: name }) => name.endsWith('.md'))
    .map((file) => [file.path, withoutCode(file.text)]),
);

test('every link between pages leads to a file that is there, and to a heading of it', () => {
  const broken = [...pages].flatMap(([page, text]) =>
    [...text.matchAll(/\]\(([^)\s]+)\)/g)]
      .map(([, target = '']) => target)
      .filter((target) => !/^[a-z]+:/.test(target) && !leads(page, target))
      .map((target) => `${page}: ${target}`),
  );
  expect(broken).toEqual([]);
});

function leads(page: string, target: string): boolean {
  const [relative = '', anchor] = target.split('#');
  const file = relative === '' ? page : path.posix.join(path.posix.dirname(page), relative).replace(/\/$/, '');
  if (anchor === undefined) return existsSync(path.join(ROOT, file));
  return anchorsOf(pages.get(file) ?? '').has(anchor);
}

/** Anchors that GitHub creates for headings. */
function anchorsOf(text: string): Set<string> {
  const titles = [...text.matchAll(/^#+ (.*)$/gm)].map(([, title = '']) =>
    title.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1'),
  );
  return new Set(titles.map(anchorOf));
}

function withoutCode(text: string): string {
  return text.replace(/^```[\s\S]*?^```$/gm, '').replace(/`[^`\n]*`/g, (code) => code.replace(/[[\]()]/g, ''));
}
