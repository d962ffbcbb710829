import type { Moment } from '@rollcall/common/clock.ts';
import { KEY_KINDS } from '../model/keys/key-kinds.ts';
import type { KeyRegistry } from '../model/keys/key-registry.ts';
import { selects } from '../model/label-selector.ts';
import { probeChecksOf, type Service } from '../model/services.ts';
import type { ObservedNode } from '../state/observed-node.ts';
import type { ObservedPoolLabelSet } from '../state/pool-label-sets.ts';
import { servicesToProbe } from '../state/probe-targets.ts';
import type { NodeSnapshot } from '../state/snapshot.ts';
import { hasStarted, startedServices } from '../state/started-services.ts';
import type { Decision } from './evaluator.ts';
import { entryKey, type IntentEntry, intentOf, type NodeIntent } from './intent/intent.ts';
import { valueOn, wantedValue } from './intent/kinds/kinds.ts';
import type { Rules } from './labelers/implied-labels.ts';
import { type Budgeted, createLabelers, type LabelerOptions } from './labelers/index.ts';
import type { Claim, EvaluatedNode, Labelers } from './labelers/labeler.ts';
import { Graces, passedBy } from './readiness/grace.ts';
import type { NodeReadiness, ServiceReadiness } from './readiness/tracker.ts';
import { judgeService } from './readiness/verdict.ts';

/** The proposed configuration. Parts without a change are identical to the current ones. */
export type Proposal = {
  services: readonly Service[];
  /** The registry with the keys of these services. */
  keys: KeyRegistry;
  rules: Rules | undefined;
  /** The set that would count for a pool. */
  poolLabelSet: (pool: string | undefined) => ObservedPoolLabelSet | undefined;
};

/** A key whose value would differ from now; `undefined` where the key is, or would be, absent. */
export type ProposedChange = {
  kind: Exclude<IntentEntry['kind'], 'annotation'>;
  key: string;
  from: string | undefined;
  to: string | undefined;
  reason: string;
};

/** Whether a proposed service would be ready on a node. */
export type ProposedReadiness = Pick<ServiceReadiness, 'state' | 'reason' | 'checks'>;

export type WhatIfOptions = Omit<LabelerOptions, Budgeted>;

/** Plans nodes with another configuration. Guards that delay are left out. */
export class WhatIf {
  readonly #proposal: Proposal;
  readonly #current: readonly Service[];
  readonly #labelers: Labelers;
  readonly #now: Moment;
  /** What is wanted now of the node that is asked about. */
  #wantedNow: NodeIntent | undefined;

  constructor(options: WhatIfOptions, proposal: Proposal, now: Moment) {
    const { services, keys, rules } = proposal;
    this.#proposal = proposal;
    this.#current = options.services();
    this.#now = now;
    this.#labelers = createLabelers({
      ...options,
      services: () => services,
      keys,
      rules: rules && (() => rules),
      withheldTaint: (service) => this.#withheldNow(service),
      hasEvictionPlace: () => false,
    });
  }

  changesOn(
    { node, evaluated, intent }: Pick<Decision, 'node' | 'evaluated' | 'intent'>,
    readiness = this.readinessOn(evaluated),
  ): ProposedChange[] {
    const { poolLabelSet } = this.#proposal;
    const then: EvaluatedNode = {
      ...evaluated,
      readiness,
      poolLabelSet: poolLabelSet(evaluated.pool),
      otherPoolLabelSets: evaluated.otherPools.flatMap((pool) => poolLabelSet(pool) ?? []),
    };
    this.#wantedNow = intent;
    return differences(node, intent, intentOf(this.#labelers, then));
  }

  /** What the budget, or the pods, of a service keep from the node is no change where the service stays as it is. */
  #withheldNow(service: Service): Pick<Claim, 'stance' | 'reason'> | undefined {
    const { taint } = service.publish;
    if (!taint || !this.#current.includes(service)) return undefined;
    const entry = this.#wantedNow?.get(entryKey({ kind: 'taint', key: taint.key }));
    return entry && entry.stance !== 'present' ? { stance: entry.stance, reason: entry.reason } : undefined;
  }

  /** The proposed services that select the node. */
  readinessOn(evaluated: EvaluatedNode): NodeReadiness {
    const readiness = new Map<string, ServiceReadiness>();
    const started = startedServices(evaluated);
    for (const service of this.#proposal.services) {
      const before = this.#current.find(({ name }) => name === service.name);
      const known = before === service ? evaluated.readiness.get(service.name) : undefined;
      if (!known?.isUndecided && !selects(service.nodeSelector, evaluated.labels)) continue;
      readiness.set(service.name, known ?? this.#judge(service, before, hasStarted(service, started), evaluated));
    }
    return readiness;
  }

  /** Judges by known evidence. No agent has run another probe yet, so its result is unknown. */
  #judge(service: Service, before: Service | undefined, isStarted: boolean, snapshot: NodeSnapshot): ServiceReadiness {
    if (isStarted) return { state: 'ready', reason: 'it was ready on the node once', cause: 'evidence', sinceMs: 0 };
    const [asked, asks] = [digestsOf(before, snapshot), digestsOf(service, snapshot)];
    const services = new Map(snapshot.services);
    for (const { id } of probeChecksOf(service)) if (asked.get(id) !== asks.get(id)) services.delete(id);
    // A check has its grace only if it is one of the service now.
    const graces = new Graces(passedBy(before, snapshot), service, snapshot);
    return {
      ...judgeService(service, { ...snapshot, services, assignedMs: new Map() }, this.#now, graces),
      sinceMs: 0,
    };
  }
}

/** The digests of what an agent probes of a service on the node, by which its results count. */
function digestsOf(service: Service | undefined, { pods, createdAtMs }: NodeSnapshot): Map<string, string | undefined> {
  return new Map(service && servicesToProbe([service], pods, createdAtMs).map(({ name, digest }) => [name, digest]));
}

function differences(node: ObservedNode, now: NodeIntent, then: NodeIntent): ProposedChange[] {
  const changes: ProposedChange[] = [];
  for (const id of new Set([...now.keys(), ...then.keys()])) {
    const [nowEntry, thenEntry] = [now.get(id), then.get(id)];
    const { kind, key } = thenEntry ?? nowEntry ?? { kind: 'annotation' as const, key: '' };
    // Annotations of rollcall follow from the other keys.
    if (kind === 'annotation') continue;
    const from = outcome(node, { kind, key }, nowEntry);
    const to = outcome(node, { kind, key }, thenEntry);
    if (from === to) continue;
    changes.push({ kind, key, from, to, reason: thenEntry?.reason ?? 'nothing requests it any more' });
  }
  return changes;
}

/** The final value of a key on the node. */
function outcome(
  node: ObservedNode,
  ref: Pick<ProposedChange, 'kind' | 'key'>,
  entry: IntentEntry | undefined,
): string | undefined {
  const { kind, key } = ref;
  const there = valueOn(node, ref);
  const isOursAlone = kind === 'label' && node.owned.labels.has(key) && node.shared?.has(key) !== true;
  if (!entry) return isOursAlone ? undefined : there;
  const { stance, ownership } = entry;
  if (stance === 'keep') return there;
  if (stance === 'present') return wantedValue(entry);
  return ownership === 'exclusive' || isOursAlone || KEY_KINDS[kind].removal === 'shared' ? undefined : there;
}
