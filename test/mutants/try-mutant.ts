import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Copy } from './copy.ts';
import type { TestRun, WhichTests } from './kept-vitest.ts';
import { type Mutation, mutated } from './mutations.ts';

/** A mutation of a file, whose path is relative to the repository. */
export type Mutant = Mutation & { file: string };

export type TryOptions = {
  limitMs: number;
  /** Only the tests in the directory of the file, and not every one that imports it. */
  besideOnly?: boolean;
  /** Only these tests. */
  tests?: readonly WhichTests[];
};

/** The tests of the file itself first, which most mutants do not survive; then those beside it; then all that reach it. */
export async function tryMutant(
  { directory, tests }: Copy,
  mutant: Mutant,
  { limitMs, besideOnly = false, tests: named }: TryOptions,
): Promise<TestRun> {
  const file = path.join(directory, mutant.file);
  const original = readFileSync(file, 'utf8');
  const write = (text: string) => {
    writeFileSync(file, text);
    tests.changed(mutant.file);
  };
  write(mutated(original, mutant));
  try {
    const own = mutant.file.replace(/\.ts$/, '.test.ts');
    const steps: readonly WhichTests[] = named ?? [
      ...(existsSync(path.join(directory, own)) ? [{ paths: [own] }] : []),
      { paths: [`${path.dirname(mutant.file)}/`] },
      ...(besideOnly ? [] : [{ related: [mutant.file] }]),
    ];
    let run: TestRun = { result: 'passed', passed: 0, tookMs: 0 };
    for (const which of steps) {
      run = await tests.run(which, limitMs);
      if (run.result !== 'passed') return run;
    }
    return run;
  } finally {
    write(original);
  }
}
