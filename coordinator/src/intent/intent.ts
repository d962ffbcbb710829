import type { Claim, JudgedNode, Labeler } from '../labelers/labeler.ts';

export type IntentEntry = Claim & {
  /** The labeler that was followed. */
  labeler: string;
  /** What other labelers said about the same key, where it is not the same. */
  overruled: readonly { labeler: string; stance: Claim['stance']; value: string; reason: string }[];
};

/** What is wanted on a node, by `kind:key`. */
export type NodeIntent = ReadonlyMap<string, IntentEntry>;

export function entryKey({ kind, key }: Pick<Claim, 'kind' | 'key'>): string {
  return `${kind}:${key}`;
}

/** Asks every labeler, and merges what they say. */
export function intentOf(labelers: readonly Labeler[], node: JudgedNode): NodeIntent {
  const claims = labelers.flatMap((labeler) =>
    labeler.claims(node).map((claim) => ({ labeler: labeler.name, ...claim })),
  );
  return mergeClaims(claims);
}

type NamedClaim = Claim & { labeler: string };

/** A wish is stronger than doubt, and doubt than a refusal. */
const STRENGTH = { want: 2, hold: 1, withhold: 0 } as const;

/** Merges claims about the same key. The outcome does not depend on the order in which they come. */
export function mergeClaims(claims: readonly NamedClaim[]): NodeIntent {
  const byKey = Map.groupBy(claims, entryKey);
  const intent = new Map<string, IntentEntry>();
  for (const [key, candidates] of byKey) {
    const [winner, ...others] = candidates.toSorted(byPrecedence);
    if (!winner) continue;
    const overruled = others
      .filter(({ stance, value }) => stance !== winner.stance || value !== winner.value)
      .map(({ labeler, stance, value, reason }) => ({ labeler, stance, value, reason }));
    intent.set(key, { ...winner, overruled });
  }
  return intent;
}

function byPrecedence(a: NamedClaim, b: NamedClaim): number {
  return (
    STRENGTH[b.stance] - STRENGTH[a.stance] ||
    compareText(a.labeler, b.labeler) ||
    compareText(a.value, b.value) ||
    compareText(a.reason, b.reason)
  );
}

function compareText(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
