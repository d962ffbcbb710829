import BY_FILE from './equivalents.json' with { type: 'json' };
import type { Mutant } from './try-mutant.ts';

/** A mutant that does the same as the source, so that no test can notice it. */
export type Equivalent = {
  file: string;
  /** The line of its place, without the blanks around it. */
  line: string;
  what: string;
  why: string;
};

/** They are not tried. Where the source changes, `mutants.test.ts` names those that have gone with it. */
export const EQUIVALENTS: readonly Equivalent[] = Object.entries(BY_FILE).flatMap(([file, mutants]) =>
  mutants.map((each) => ({ file, ...each })),
);

/** `text`: of the mutant's file. */
export function isEquivalent(mutant: Pick<Mutant, 'file' | 'line' | 'what'>, text: string): boolean {
  const line = text.split('\n')[mutant.line - 1]?.trim();
  return EQUIVALENTS.some((each) => each.file === mutant.file && each.line === line && each.what === mutant.what);
}
