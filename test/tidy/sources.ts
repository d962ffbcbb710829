import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';

export const ROOT = path.resolve(import.meta.dirname, '../..');

export type SourceFile = { path: string; text: string; lines: number };

/** Every text file that git tracks or would track. */
export function repositoryFiles(): SourceFile[] {
  const listed = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '-z'], { cwd: ROOT });
  return listed
    .toString()
    .split('\0')
    .filter((name) => /\.(ts|md|json|ya?ml|mod)$|\/run$/.test(name))
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

export function importsOf({ text }: SourceFile): string[] {
  return [...text.matchAll(/(?:from|import)\s*\(?\s*'([^']+)'/g)].map((match) => match[1] ?? '');
}

/** The room of a repository path: `agent/probes`, `coordinator/fleet`, `coordinator` for its root, `common`, `test`. */
export function roomOf(file: string): string {
  const [top = '', second = '', third = '', fourth] = file.split('/');
  if (top === 'packages') return second;
  if ((top === 'agent' || top === 'coordinator') && second === 'src')
    return fourth === undefined ? top : `${top}/${third}`;
  return top;
}

/** Resolves an import to a repository path; packages from outside give `undefined`. */
export function resolveImport(file: string, specifier: string): string | undefined {
  if (specifier.startsWith('.')) return path.posix.join(path.posix.dirname(file), specifier);
  const own = /^@rollcall\/(common|agent|coordinator)\/(.+)$/.exec(specifier);
  if (!own) return undefined;
  return own[1] === 'common' ? `packages/common/src/${own[2]}` : `${own[1]}/src/${own[2]}`;
}
