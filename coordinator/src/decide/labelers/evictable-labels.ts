import { WITHDRAWN_LABELS_ANNOTATION } from '@rollcall/common/well-known.ts';
import { isSeen } from '../../model/inventory/cause.ts';
import type { Service } from '../../model/services.ts';
import { isOfRule, isOfService, listedOf } from '../../state/node-keys.ts';
import type { ObservedNode } from '../../state/observed-node.ts';
import type { NodeReadiness } from '../readiness/tracker.ts';
import type { Rules } from './implied-labels.ts';
import { labelsOfServices, parseWithdrawnLabels } from './withdrawn-labels.ts';

type Labels = Readonly<Record<string, string>>;

/** The labels of a node, and those that rollcall withdrew and for which pods may be evicted. */
export type EvictableLabels = { labels: Labels; withdrawn: Labels };

type Given = {
  services: () => readonly Service[];
  rules: (() => Pick<Rules, 'dependents'>) | undefined;
  /** Whether the budget of a service that fails has a place for the node. */
  mayEvict: (service: Service) => boolean;
};

/**
 * Of the labels that the Node lists as withdrawn, the label of a service counts only while the service is seen to fail:
 * not while its agent is silent, it is damped, its state is unknown, it no longer applies to the node, or no service in
 * force publishes the label any more, and not beyond its budget. The same holds for labels that rules derive from it.
 */
export function evictableLabels(
  { labels, annotations }: Pick<ObservedNode, 'labels' | 'annotations'>,
  readiness: () => NodeReadiness | undefined,
  { services, rules, mayEvict }: Given,
): EvictableLabels {
  const withdrawn = Object.entries(parseWithdrawnLabels(annotations[WITHDRAWN_LABELS_ANNOTATION]));
  if (withdrawn.length === 0) return { labels, withdrawn: {} };
  const shown = readiness();
  const failing = new Set<string>();
  const noted = labelsOfServices(annotations[WITHDRAWN_LABELS_ANNOTATION]).keys();
  const unseen = new Set([
    ...listedOf({ annotations }, 'label', (origin) => isOfService(origin) && !isOfRule(origin)),
    ...noted,
  ]);
  for (const service of services()) {
    const { name, publish } = service;
    const verdict = shown?.get(name);
    const isFailing = verdict?.state === 'not-ready' && isSeen(verdict.cause) && mayEvict(service);
    if (publish.label !== undefined) (isFailing ? failing : unseen).add(publish.label);
  }
  for (const label of failing) unseen.delete(label);
  const ignored = unseen.union(rules?.().dependents(unseen) ?? new Set());
  return { labels, withdrawn: Object.fromEntries(withdrawn.filter(([key]) => !ignored.has(key))) };
}
