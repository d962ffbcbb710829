import { KEYS_ANNOTATION } from '@rollcall/common/well-known.ts';
import type { ObservedNode } from '../../state/observed-node.ts';
import type { Claim } from '../labelers/labeler.ts';
import type { NodePlan } from './plan.ts';

export function observed(labels: Record<string, string>, owned: string[] = []): ObservedNode {
  const annotations = {};
  return {
    name: 'n',
    uid: 'u',
    resourceVersion: '7',
    createdAtMs: 0,
    labels,
    annotations,
    owned: { labels: new Set(owned), annotations: new Set() },
    inherited: new Set(),
  };
}

export function claim(change: Partial<Claim & { labeler: string }> = {}): Claim & { labeler: string } {
  const base = {
    kind: 'label',
    key: 'k',
    value: 'true',
    stance: 'present',
    ownership: 'exclusive',
    reason: 'r',
  } as const;
  return { labeler: 'test', cause: 'evidence', ...base, ...change };
}

/** Whether there is anything to write. Keys of another writer are only skipped. */
export function isToWrite(plan: NodePlan | undefined): plan is NodePlan {
  const { node: _node, foreign: _foreign, ...writes } = plan ?? {};
  return Object.keys(writes).length > 0;
}

/** The Node that the API server makes of a plan if no other field manager applied the same keys. */
export function apply(node: ObservedNode, { withdrawal, set, taints }: NodePlan): ObservedNode {
  const labels = applied({ values: node.labels, owned: node.owned.labels }, withdrawal?.labels, set?.labels);
  const annotations = applied(
    { values: node.annotations, owned: node.owned.annotations },
    withdrawal?.annotations,
    set?.annotations,
  );
  const kept = node.taints?.filter(({ key }) => !taints?.remove.includes(key)) ?? [];
  const note = { ...annotations.values };
  if (taints?.keys?.after !== undefined) note[KEYS_ANNOTATION] = taints.keys.after;
  else if (taints?.keys) delete note[KEYS_ANNOTATION];
  return {
    ...node,
    labels: labels.values,
    annotations: note,
    owned: { labels: labels.owned, annotations: annotations.owned },
    inherited: new Set([...node.inherited].filter((key) => key in note)),
    taints: [...kept, ...(taints?.add ?? [])],
  };
}

type Values = { values: Readonly<Record<string, string>>; owned: ReadonlySet<string> };

function applied(before: Values, withdrawn: readonly string[] = [], set?: Record<string, string>): Values {
  const values = { ...before.values };
  const owned = new Set(before.owned);
  for (const key of withdrawn) {
    delete values[key];
    owned.delete(key);
  }
  if (!set) return { values, owned };
  for (const key of owned) if (!(key in set)) delete values[key];
  return { values: { ...values, ...set }, owned: new Set(Object.keys(set)) };
}
