import { REGISTRY_FACADE, readyLabel, WORKSPACE_NODE_LABELS, WS_DAEMON } from '@rollcall/common/well-known.ts';
import type { Refusal } from './rules.ts';
import type { SchedulingPod } from './scheduling-pod.ts';

/** A node as the predecessor's endpoint sees it: by its labels alone. */
export type LabelledNode = { name: string; labels: Readonly<Record<string, string>> };

const [REGULAR_LABEL = '', HEADLESS_LABEL = ''] = WORKSPACE_NODE_LABELS;

/**
 * Gitpod's predicate as it was: labels as shown, `workspaceType` alone, registry-facade before ws-daemon, everything
 * beyond the reach of preemption. Only the texts differ, where they named the label in place of the node.
 */
export function predicateRefusal(pod: SchedulingPod, node: LabelledNode, namespace: string): Refusal | undefined {
  if (pod.workspace === undefined) return undefined;
  const has = (label: string) => Object.hasOwn(node.labels, label);
  const misplaced =
    !(has(REGULAR_LABEL) || has(HEADLESS_LABEL)) ||
    (pod.workspaceType === 'headless' && !has(HEADLESS_LABEL)) ||
    (pod.workspaceType === 'regular' && !has(REGULAR_LABEL));
  if (misplaced) return refusal('predicate-kind', `cannot schedule pod ${pod.name} in node ${node.name}`);
  for (const label of [readyLabel(REGISTRY_FACADE, namespace), readyLabel(WS_DAEMON, namespace)]) {
    if (!has(label)) {
      return refusal('predicate-ready', `node ${node.name} does not have the required label ${label}`);
    }
    const value = node.labels[label];
    if (value !== 'true') return refusal('predicate-ready', `unexpected node label ${label} value: ${value}`);
  }
  return undefined;
}

function refusal(rule: string, message: string): Refusal {
  return { rule, message, announced: true };
}
