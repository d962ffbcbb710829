import type { Claim, JudgedNode, Labelers, LabelWishes } from '../labelers/labeler.ts';

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
export function intentOf({ labelers, consequences }: Labelers, node: JudgedNode): NodeIntent {
  const claims = labelers.flatMap(({ name, claims }) => named(name, claims(node)));
  let intent = mergeClaims(claims);
  for (const consequence of consequences) {
    claims.push(...named(consequence.name, consequence.claims(node, labelWishes(intent))));
    intent = mergeClaims(claims);
  }
  return intent;
}

function named(labeler: string, claims: readonly Claim[]): NamedClaim[] {
  return claims.map((claim) => ({ labeler, ...claim }));
}

function labelWishes(intent: NodeIntent): LabelWishes {
  const labels = [...intent.values()].filter(({ kind }) => kind === 'label');
  return new Map(labels.map((entry) => [entry.key, entry]));
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
