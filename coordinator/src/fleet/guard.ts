/** How many nodes are expected to report, and how many of them are overdue: kept up to date one by one, in O(1). */
export type Population = { expected: number; overdue: number };

/** Below this share of overdue nodes the guard clears. */
const CLEAR_PERCENT = 40;

/**
 * Whether so many nodes are silent that the fault is the network's or the coordinator's, not the nodes'. A level with
 * hysteresis, not a rate: it depends on how things are, not on how fast they became so (the node lifecycle controller
 * of Kubernetes knows the same as "full disruption", at 55 % and more than 2).
 */
export function guardHolds(active: boolean, { expected, overdue }: Population, guardPercent: number): boolean {
  if (overdue === 0) return false;
  const percent = (100 * overdue) / expected;
  if (active) return percent >= Math.min(CLEAR_PERCENT, guardPercent);
  return percent >= guardPercent && (overdue > 2 || overdue === expected);
}
