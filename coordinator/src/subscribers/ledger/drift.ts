import type { DriftCause, DriftDirection, KeyKind } from '@rollcall/common/console.ts';
import type { Decision } from '../../decide/evaluator.ts';
import type { IntentEntry } from '../../decide/intent/intent.ts';
import { KINDS, valueOn } from '../../decide/intent/kinds/kinds.ts';
import type { SkippedKey } from '../../decide/intent/plan.ts';
import type { ServiceReadiness } from '../../decide/readiness/tracker.ts';
import { publishes, type Service } from '../../model/services.ts';
import { isOfService } from '../../state/node-keys.ts';

/** Something that a Node says at this moment and that the evidence contradicts. */
export type Drift = {
  kind: KeyKind;
  key: string;
  service: string | undefined;
  direction: DriftDirection;
  cause: DriftCause;
  /** For people. */
  evidence: string;
};

/** A node, what is wanted of it, and what stands in the way. */
export type LedgerFacts = Pick<Decision, 'node' | 'evaluated' | 'intent'> & { skipped: readonly SkippedKey[] };

export type DriftRules = {
  services: readonly Service[];
  /** Another program writes the keys, not rollcall. */
  dryRun: boolean;
};

/** What the evidence says of a key: that it is to be there, that it is to be absent, or nothing. */
type Truth = { isThere: boolean; evidence: string; readiness?: ServiceReadiness };

/** Every drift on a Node. A key that is missing, or has another value than it should, counts as absent. */
export function driftOn(facts: LedgerFacts, rules: DriftRules): Drift[] {
  const drifts: Drift[] = [];
  for (const entry of facts.intent.values()) {
    const service = rules.services.find((each) => publishes(each, entry));
    if (entry.kind === 'condition') {
      const drift = conditionDrift(entry, service, facts, rules);
      if (drift) drifts.push(drift);
      continue;
    }
    const truth = truthOf(entry, service, facts);
    if (!truth) continue;
    const isThere = isOn(entry, facts);
    if (isThere === undefined || isThere === truth.isThere) continue;
    drifts.push({
      kind: entry.kind,
      key: entry.key,
      service: service?.name,
      // A taint says what is not ready.
      direction: isThere === (entry.kind === 'taint') ? 'said-not-ready' : 'said-ready',
      cause: causeOf(
        entry,
        { ...truth, isWanted: entry.stance === (truth.isThere ? 'present' : 'absent') },
        facts,
        rules,
      ),
      evidence: truth.evidence,
    });
  }
  return drifts;
}

/** A condition says that a service is ready, or that it is not, or nothing: `Unknown`. */
function conditionDrift(
  entry: IntentEntry,
  service: Service | undefined,
  facts: LedgerFacts,
  rules: DriftRules,
): Drift | undefined {
  const readiness = service && facts.evaluated.readiness.get(service.name);
  const { state, reason } = readiness?.evidence ?? readiness ?? { state: 'unknown', reason: '' };
  const status = valueOn(facts.node, entry);
  if (state === 'unknown' || (status !== 'True' && status !== 'False')) return undefined;
  const isReady = state === 'ready';
  if ((status === 'True') === isReady) return undefined;
  const direction = isReady ? 'said-not-ready' : 'said-ready';
  const isWanted = entry.stance === 'present' && entry.value !== status;
  const cause = causeOf(entry, { readiness, isWanted }, facts, rules);
  return { kind: 'condition', key: entry.key, service: service?.name, direction, cause, evidence: reason };
}

function truthOf(entry: IntentEntry, service: Service | undefined, { evaluated }: LedgerFacts): Truth | undefined {
  const readiness = service && isOfService(entry.origin) ? evaluated.readiness.get(service.name) : undefined;
  if (!service || !readiness) return truthOfStance(entry, evaluated.sharedLabels);
  const gate = service.origin.kind === 'built-in' ? service.origin.gate : 'both';
  const isTaint = entry.kind === 'taint';
  // Where the taint shows it, the label is set for good, on nodes for workspaces.
  if (gate === 'taint' && !isTaint) return truthOfStance(entry, evaluated.sharedLabels);
  const { state, reason } = readiness.evidence ?? readiness;
  if (state === 'unknown') return undefined;
  const isReady = state === 'ready';
  // Where it is not the taint that shows it, or not yet, one that is absent says nothing.
  if (isTaint && !isReady && (entry.stance === 'absent' || gate === 'label')) return undefined;
  return { isThere: isTaint !== isReady, evidence: reason, readiness };
}

/** For a key that is not about a service, the wanted state is the evidence. */
function truthOfStance(entry: IntentEntry, shared: ReadonlySet<string>): Truth | undefined {
  const { kind, key, stance, ownership, reason, labeler } = entry;
  // Notes of rollcall say nothing of the node.
  if (kind === 'annotation' && labeler !== 'scale-down') return undefined;
  if (stance === 'present') return { isThere: true, evidence: reason };
  // What others may have as well is not said to be wrong.
  const isOurs = ownership === 'exclusive' || (ownership === 'forced' && !shared.has(key));
  return stance === 'absent' && isOurs && kind !== 'annotation' ? { isThere: false, evidence: reason } : undefined;
}

function isOn(entry: IntentEntry, { node }: LedgerFacts): boolean | undefined {
  if (!KINDS[entry.kind].isShown(node)) return undefined;
  const there = valueOn(node, entry);
  // A taint says that a service is not ready, whatever its value and effect.
  return entry.kind === 'taint' ? there !== undefined : there === entry.value;
}

/** `isWanted`: that it is otherwise is what is to be written. */
function causeOf(
  entry: IntentEntry,
  { isWanted, readiness }: { isWanted: boolean; readiness?: ServiceReadiness | undefined },
  facts: LedgerFacts,
  { dryRun }: DriftRules,
): DriftCause {
  if (dryRun) return 'dry-run';
  const skipped = facts.skipped.find(({ kind, key }) => kind === entry.kind && key === entry.key);
  if (skipped) return skipped.cause === 'contested' ? 'contested' : 'foreign';
  if (readiness?.damping) return 'held-back';
  return isWanted ? 'unwritten' : 'guarded';
}
