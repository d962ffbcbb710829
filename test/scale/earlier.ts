import { readFileSync } from 'node:fs';

/** The result of an earlier run: of which bench and how many nodes, and what was measured, by its key. */
export type Earlier = { bench: string; nodes: number; measured: Readonly<Record<string, number>> };

/** Reads a file of `results`. Throws an Error that names the file and what is wrong with it. */
export function readResult(file: string): Earlier {
  let value: Partial<Earlier> | null;
  try {
    value = JSON.parse(readFileSync(file, 'utf8')) as Partial<Earlier> | null;
  } catch (cause) {
    throw new Error(`--compare: ${file} is not a file of test/scale/results`, { cause });
  }
  const { bench, nodes, measured } = value ?? {};
  if (typeof bench !== 'string' || typeof nodes !== 'number' || typeof measured !== 'object') {
    throw new Error(`--compare: ${file} has no bench, nodes and measured: give a file of test/scale/results`);
  }
  return { bench, nodes, measured };
}

/** Earlier measurements of the bench with this name; empty if there are none. */
export function measuredBefore(
  earlier: readonly Earlier[],
  bench: string,
  file: string,
): Readonly<Record<string, number>> | undefined {
  return earlier.find((each) => each.bench === bench && (file === bench || file === `${bench}-${each.nodes}`))
    ?.measured;
}
