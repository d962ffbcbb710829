/**
 * Where a node is on its way to being silent. `leaving`: its agent said goodbye. `parting`: so it did, or may have before
 * this term, and no other is there. `bare`: it has no agent, as far as is known by now, and nothing says that it had one.
 * Those and the ones that are `absent` are not expected to report.
 */
export type Stage = 'absent' | 'bare' | 'parting' | 'waiting' | 'overdue' | 'silent' | 'leaving';

/** How well a node is heard, as this tracker keeps it. */
export type Presence = {
  stage: Stage;
  pool: string | undefined;
  /** Whether a report was accepted since silence was last counted anew. */
  heard: boolean;
  /** Monotonic milliseconds from which silence is counted. */
  sinceMs: number;
};

/** How many nodes are expected to report, and how many of them are overdue. */
export type Population = { expected: number; overdue: number };

export function isExpected({ stage }: Presence): boolean {
  return stage !== 'absent' && stage !== 'bare' && stage !== 'parting';
}

export function isOverdue({ stage }: Presence): boolean {
  return stage === 'overdue' || stage === 'silent';
}
