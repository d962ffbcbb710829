import type { Claim, EvaluatedNode, Labelers } from '../labelers/labeler.ts';

export type IntentEntry = Claim & {
  /** The labeler that won. */
  labeler: string;
  /** The claims of other labelers on the same key, if they differ. */
  overruled: readonly { labeler: string; stance: Claim['stance']; value: string; reason: string }[];
};

/** The merged claims on a node, by `kind:key`. */
export type NodeIntent = ReadonlyMap<string, IntentEntry>;

export function entryKey({ kind, key }: Pick<Claim, 'kind' | 'key'>): string {
  return `${kind}:${key}`;
}

/** May keep for now what is to leave a node. */
export type Guard = (entry: IntentEntry, node: EvaluatedNode) => IntentEntry;

/**
 * Asks every labeler, and merges what they say. The guard sees every entry before the labelers that build on it: what
 * follows from a label that stays for now stays as well. Rules may build on labels of rules, so a labeler of which the
 * guard kept a label is asked once more.
 */
export function intentOf(
  { labelers, consequences }: Labelers,
  node: EvaluatedNode,
  guard: Guard = (entry) => entry,
): NodeIntent {
  const merging = new Merging();
  for (const { name, claims } of labelers) for (const claim of claims(node)) merging.add(name, claim);
  merging.guard(guard, node);
  for (const { name, claims } of consequences) {
    const ask = () => {
      for (const claim of claims(node, merging.labels, merging.intent)) merging.add(name, claim);
      return merging.guard(guard, node);
    };
    if (ask()) ask();
  }
  return merging.intent;
}

/** Merges claims about the same key. The outcome does not depend on the order in which they come. */
export function mergeClaims(claims: readonly NamedClaim[]): NodeIntent {
  const merging = new Merging();
  for (const { labeler, ...claim } of claims) merging.add(labeler, claim);
  return merging.intent;
}

type NamedClaim = Claim & { labeler: string };

/** The claims so far. Nearly every key is claimed once, so only the others are compared. */
class Merging {
  readonly intent = new Map<string, IntentEntry>();
  /** The labels, by their own keys. */
  readonly labels = new Map<string, IntentEntry>();
  readonly #disputed = new Map<string, NamedClaim[]>();
  readonly #unguarded = new Set<string>();

  add(labeler: string, claim: Claim): void {
    const id = entryKey(claim);
    this.#unguarded.add(id);
    this.#put(id, this.#merge(id, { ...claim, labeler, overruled: NONE }));
  }

  /** Returns whether something stays that was to leave. */
  guard(guard: Guard, node: EvaluatedNode): boolean {
    let hasKept = false;
    for (const id of this.#unguarded) {
      const entry = this.intent.get(id);
      const guarded = entry && guard(entry, node);
      if (!guarded || guarded === entry) continue;
      this.#put(id, guarded);
      hasKept = true;
    }
    this.#unguarded.clear();
    return hasKept;
  }

  #put(id: string, entry: IntentEntry): void {
    this.intent.set(id, entry);
    if (entry.kind === 'label') this.labels.set(entry.key, entry);
  }

  #merge(id: string, added: IntentEntry): IntentEntry {
    const first = this.intent.get(id);
    if (!first) return added;
    const claims = [...(this.#disputed.get(id) ?? [first]), added].sort(byPrecedence);
    this.#disputed.set(id, claims);
    const [winner = added, ...others] = claims;
    const overruled = others
      .filter(({ stance, value }) => stance !== winner.stance || value !== winner.value)
      .map(({ labeler, stance, value, reason }) => ({ labeler, stance, value, reason }));
    return { ...winner, overruled };
  }
}

const NONE: readonly never[] = [];

/** A wish is stronger than doubt, and doubt than a refusal. */
const STRENGTH = { present: 2, keep: 1, absent: 0 } as const;

/**
 * If labelers agree, or want different values, the ownership that reaches further wins: a key that has to be removed
 * whatever its owner is not only released, and a value that has to be there is not left to others.
 */
const REACH = { exclusive: 2, forced: 1, shared: 0 } as const;

function byPrecedence(a: NamedClaim, b: NamedClaim): number {
  return (
    STRENGTH[b.stance] - STRENGTH[a.stance] ||
    REACH[b.ownership] - REACH[a.ownership] ||
    compareText(a.labeler, b.labeler) ||
    compareText(a.value, b.value) ||
    compareText(a.reason, b.reason)
  );
}

function compareText(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
