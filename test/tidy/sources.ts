import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { ROOM_IMPORTS } from './rooms.ts';

export const ROOT = path.resolve(import.meta.dirname, '../..');

export type SourceFile = { path: string; text: string; lines: number };

/** Every text file that git tracks or would track. */
export function repositoryFiles(): SourceFile[] {
  const listed = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '-z'], { cwd: ROOT });
  return listed
    .toString()
    .split('\0')
    .filter((name) => /\.(tsx?|css|html|md|json|ya?ml|mod)$|\/run$/.test(name))
    .flatMap((name) => {
      try {
        const text = readFileSync(path.join(ROOT, name), 'utf8');
        return [{ path: name, text, lines: text.split('\n').length - 1 }];
      } catch {
        // Deleted in the working tree, not yet in the index.
        return [];
      }
    });
}

const TEST_CODE = /^test\/|\.test\.ts$|\.test-fixtures\.ts$|\/testing\/|^vitest\.config\.ts$/;

/** Whether a repository path is of something that only tests use. */
export function isTestCode(file: string): boolean {
  return TEST_CODE.test(file);
}

export function importsOf({ text }: SourceFile): string[] {
  return [...text.matchAll(/(?:from|import)\s*\(?\s*'([^']+)'/g)].map((match) => match[1] ?? '');
}

/** The package that has rooms of its own. */
const EXTENDER = /^packages\/scheduler-extender\//;
const ROOMY = ['agent', 'coordinator', 'scheduler-extender'];

/** The room of a repository path: `agent/probes`, `coordinator/decide/rules`, `coordinator` for its root, `common`. */
export function roomOf(file: string): string {
  const [top = '', second = '', ...rest] = file.replace(EXTENDER, 'scheduler-extender/').split('/');
  if (top === 'packages') return second;
  if (top === 'deploy' && second === 'source') return 'deploy/source';
  if (!ROOMY.includes(top) || second !== 'src') return top;
  for (let depth = rest.length - 1; depth > 0; depth -= 1) {
    const room = [top, ...rest.slice(0, depth)].join('/');
    if (room in ROOM_IMPORTS) return room;
  }
  return rest.length > 1 ? `${top}/${rest[0]}` : top;
}

/** Resolves an import to a repository path; packages from outside give `undefined`. */
export function resolveImport(file: string, specifier: string): string | undefined {
  if (specifier.startsWith('.')) return path.posix.join(path.posix.dirname(file), specifier);
  const own = /^@rollcall\/(common|agent|coordinator|scheduler-extender)\/(.+)$/.exec(specifier);
  if (!own) return undefined;
  const isPackage = own[1] === 'common' || own[1] === 'scheduler-extender';
  return `${isPackage ? 'packages/' : ''}${own[1]}/src/${own[2]}`;
}
