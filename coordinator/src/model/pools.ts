import { poolsNamed } from '@rollcall/common/pool-labels.ts';

/** The pool of a node: the first of these labels that has a value. */
export function poolOf(labels: Readonly<Record<string, string>>, poolLabels: readonly string[]): string | undefined {
  const key = poolLabels.find((candidate) => labels[candidate]);
  return key === undefined ? undefined : labels[key];
}

/** Other pools that labels of the node name, in the order of the labels. */
export function otherPoolsOf(
  labels: Readonly<Record<string, string>>,
  poolLabels: readonly string[],
): readonly string[] {
  const [, ...others] = poolsNamed(labels, poolLabels);
  return others.length > 0 ? others : NO_POOLS;
}

const NO_POOLS: readonly string[] = [];
