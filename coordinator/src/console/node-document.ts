import { rfc3339 } from '@rollcall/common/rfc3339.ts';
import type { RefusedWithdrawal } from '../apply/refused-withdrawals.ts';
import type { ObservedNode } from '../fleet/observed-node.ts';
import { type DatedChange, valueOn } from '../intent/changes.ts';
import type { IntentEntry, NodeIntent } from '../intent/intent.ts';
import type { NodePlan, SetAsideKey } from '../intent/plan.ts';
import type { JudgedNode } from '../labelers/labeler.ts';
import type { Service } from '../services.ts';

/** Everything that is known about one node at one moment. */
export type NodeFacts = {
  node: ObservedNode;
  judged: JudgedNode;
  intent: NodeIntent;
  plan: NodePlan | undefined;
  setAside: readonly SetAsideKey[];
  refusedWithdrawals: readonly RefusedWithdrawal[];
  changes: readonly DatedChange[];
  /** Since the last report, in milliseconds. */
  quietMs: number | undefined;
};

/** The page that explains a node. Times are RFC 3339. */
export function nodeDocument(facts: NodeFacts, services: readonly Service[]) {
  const { node, judged, intent, plan, changes, quietMs } = facts;
  return {
    name: node.name,
    uid: node.uid,
    pool: judged.pool,
    agent: {
      ...judged.freshness,
      ...(quietMs === undefined ? {} : { lastReportSecondsAgo: Math.round(quietMs / 100) / 10 }),
    },
    services: services.map((service) => serviceDocument(service, judged)),
    keys: [...intent.values()].map((entry) => keyDocument(entry, facts, services)),
    workspaces: judged.workspaces?.map(({ namespace, name }) => `${namespace}/${name}`),
    pending: plan && planDocument(plan),
    changes: changes.toReversed().map(({ atMs, ...change }) => ({ at: rfc3339(atMs), ...change })),
  };
}

function serviceDocument({ name, component }: Service, { readiness, pods, services }: JudgedNode) {
  const shown = readiness.get(name);
  const probe = services.get(name);
  return {
    name,
    state: shown?.state,
    since: shown && rfc3339(shown.sinceMs),
    reason: shown?.reason,
    heldBack: shown?.damping && { until: rfc3339(shown.damping.untilMs), falls: shown.damping.falls },
    pods: pods
      .filter((pod) => pod.component === component)
      .map(({ namespace, name: pod, ready, terminating }) => ({ pod: `${namespace}/${pod}`, ready, terminating })),
    probe: probe && { ready: probe.ready, since: probe.since, evidence: probe.evidence },
  };
}

/** `stance`: want (it is to be there), withhold (it is to be absent), hold (it stays as it is). */
function keyDocument(entry: IntentEntry, facts: NodeFacts, services: readonly Service[]) {
  const { node, setAside, refusedWithdrawals, changes } = facts;
  const { kind, key, value, stance, ownership, reason, labeler, overruled } = entry;
  const isIt = (other: { kind: string; key: string }) => other.kind === kind && other.key === key;
  const out = setAside.find(isIt);
  const service = kind === 'annotation' ? undefined : services.find((each) => each[kind] === key)?.name;
  const sinceMs = entry.sinceMs ?? changes.findLast(isIt)?.atMs;
  return {
    kind,
    key,
    service,
    stance,
    value,
    // `null` where it is absent, and left out where nobody looks: taints are not always watched.
    onNode: kind === 'taint' && !node.taints ? undefined : (valueOn(node, kind, key) ?? null),
    reason,
    labeler,
    ownership,
    since: sinceMs === undefined ? undefined : rfc3339(sinceMs),
    overruled: overruled.length > 0 ? overruled : undefined,
    setAside: out && { cause: out.cause, message: out.message },
    removalRefused: refusedWithdrawals.find(isIt)?.message,
  };
}

/** What is about to be written. */
export function planDocument({ withdrawal, set, taints }: NodePlan) {
  return {
    withdraw: withdrawal,
    apply: set && { labels: set.labels, annotations: set.annotations, force: set.force },
    taints: taints && { add: taints.add, remove: taints.remove },
  };
}
