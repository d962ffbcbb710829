import { isTestCode, repositoryFiles, type SourceFile } from '../sources.ts';

/** How large code is. Tokens are counted without comments and imports, since lines say more of the formatter. */
export type Size = { tokens: number; lines: number; files: number };

/** The most that a part of the repository may have, and what it is meant to shrink to. Lower a limit when it can be lowered. */
export const BUDGETS: readonly {
  what: string;
  of: (path: string) => boolean;
  limit: Partial<Size>;
  aim: Partial<Size>;
}[] = [
  {
    what: 'coordinator',
    of: (name) => name.startsWith('coordinator/src/') && !isTestCode(name),
    limit: { tokens: 224_000 },
    aim: { tokens: 165_000, lines: 22_000 },
  },
  {
    what: 'tests',
    of: isTestCode,
    limit: {},
    aim: { lines: 105_000 },
  },
];

const COMMENT = /\/\*.*?\*\//gs;
const LINE_COMMENT = /(^|\s)\/\/.*$/gm;
const IMPORT = /^(?:import|export)\b[^;]*?\bfrom\s+'[^']*';/gms;
const TOKEN = /[A-Za-z_$#][\w$]*|\d[\w.]*|'(?:[^'\\]|\\.)*'|`(?:[^`\\]|\\.)*`|[^\s\w]/g;

/** The number of tokens of a source: a name, a number, a text or a sign is one. */
export function tokensIn(text: string): number {
  const code = text.replaceAll(COMMENT, '').replaceAll(LINE_COMMENT, '').replaceAll(IMPORT, '');
  return code.match(TOKEN)?.length ?? 0;
}

export function sizeOf(files: readonly SourceFile[]): Size {
  return files.reduce(
    (sum, { text, lines }) => ({
      tokens: sum.tokens + tokensIn(text),
      lines: sum.lines + lines,
      files: sum.files + 1,
    }),
    { tokens: 0, lines: 0, files: 0 },
  );
}

/** All sources of the repository in TypeScript. */
export function sourceFiles(): SourceFile[] {
  return repositoryFiles().filter(({ path: name }) => /\.tsx?$/.test(name));
}
