import { rfc3339 } from '@rollcall/common/rfc3339.ts';
import type { Claim, JudgedNode } from '../labelers/labeler.ts';
import { formatManagedLabels, parseManagedLabels } from '../labelers/managed-labels.ts';
import type { BlastRadius } from './blast-radius.ts';

/** Both clocks at one moment, in milliseconds. */
type Moment = { monotonicMs: number; wallMs: number };

/**
 * What a labeler claims, with labels that stay for now. A label is ours as long as the annotation `list` names it, so the
 * list goes on naming those.
 */
export function delayClaims(
  claims: readonly Claim[],
  node: JudgedNode,
  { list, guard, now }: { list: string; guard: BlastRadius; now: Moment },
): Claim[] {
  const kept: string[] = [];
  const delayed = claims.map((claim): Claim => {
    const { kind, key, stance, configuredBy } = claim;
    const value = node.labels[key];
    if (kind !== 'label') return claim;
    if (stance !== 'withhold' || configuredBy === undefined || value === undefined) {
      guard.settled(node.name, key);
      return claim;
    }
    const untilMs = guard.holdsUntilMs(node.name, key, configuredBy, now.monotonicMs);
    if (untilMs === undefined) return claim;
    kept.push(key);
    const until = rfc3339(now.wallMs + untilMs - now.monotonicMs);
    const reason = `${claim.reason}; stays until ${until}, since many nodes would lose it at once`;
    return { ...claim, value, stance: 'hold', reason };
  });
  if (kept.length === 0) return delayed;
  return delayed.map((claim) => (claim.kind === 'annotation' && claim.key === list ? listing(claim, kept) : claim));
}

function listing(claim: Claim, kept: readonly string[]): Claim {
  const named = claim.stance === 'want' ? (parseManagedLabels(claim.value) ?? []) : [];
  const reason = 'lists the labels that rollcall manages, with those that stay for a while';
  return { ...claim, stance: 'want', value: formatManagedLabels(new Set([...named, ...kept])), reason };
}
