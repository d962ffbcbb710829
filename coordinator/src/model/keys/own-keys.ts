import {
  DEVICE_IDENTITY_PREFIX,
  DEVICE_TREE_PREFIX,
  DO_NOT_DISRUPT,
  FACT_PREFIX,
  IMPLIED_LABELS_ANNOTATION,
  KEYS_ANNOTATION,
  MANAGED_LABELS_ANNOTATION,
  NFD_PCI_PREFIX,
  NFD_USB_PREFIX,
  SCALE_DOWN_DISABLED,
  SCALE_DOWN_HOLD,
  SCHEDULING_HINT_ANNOTATION,
  SERVICE_KEYS_ANNOTATION,
  SERVICES_STARTED_ANNOTATION,
  STARTUP_TAINT,
  WITHDRAWN_LABELS_ANNOTATION,
} from '@rollcall/common/well-known.ts';
import type { KeyEntry, ServiceKeys } from './key-entry.ts';

/** Every key of a Node that rollcall reads or writes, except the keys of services. */
export const OWN_KEYS: readonly KeyEntry[] = [
  {
    kind: 'taint',
    keys: { name: STARTUP_TAINT },
    labeler: 'startup-gate',
    owner: 'the startup gate',
    ownership: 'exclusive',
    isKept: ({ startupGateRequires, startupGateDaemonSets }) =>
      startupGateRequires.length > 0 || startupGateDaemonSets === true,
    fence: 'remove',
    prune: 'remove',
    value: '',
    presentWhile:
      'an admission policy or the kubelet sets it; the coordinator removes it when the startup gate opens or is off',
  },
  {
    kind: 'annotation',
    keys: { name: KEYS_ANNOTATION },
    labeler: 'left-over-keys',
    ownership: 'forced',
    value: 'keys with their origins',
    presentWhile: 'rollcall has set a label, taint or condition on the node',
  },
  ...[SERVICE_KEYS_ANNOTATION, IMPLIED_LABELS_ANNOTATION].map(
    (name): KeyEntry => ({
      kind: 'annotation',
      keys: { name },
      labeler: 'left-over-keys',
      ownership: 'exclusive',
      value: 'keys',
      presentWhile: `an earlier version wrote it, until \`${KEYS_ANNOTATION}\` lists the same`,
    }),
  ),
  {
    kind: 'annotation',
    keys: { name: SERVICES_STARTED_ANNOTATION },
    labeler: 'services-started',
    ownership: 'forced',
    prune: 'remove',
    value: 'services',
    presentWhile: 'a NodeService was ready on the node once',
  },
  {
    kind: 'annotation',
    keys: { name: SCALE_DOWN_DISABLED },
    labeler: 'scale-down',
    ownership: 'forced',
    value: '`true`',
    presentWhile: 'a Workspace or a pod of a NodeHold is on the node, or the node has the hold below',
  },
  {
    kind: 'annotation',
    keys: { name: DO_NOT_DISRUPT },
    labeler: 'scale-down',
    ownership: 'forced',
    value: '`true`',
    presentWhile: 'the same, on nodes of Karpenter (`karpenter.sh/nodepool`)',
  },
  {
    kind: 'annotation',
    keys: { name: SCALE_DOWN_HOLD },
    labeler: 'scale-down',
    ownership: 'theirs',
    value: '`true`',
    presentWhile: 'another client sets it to keep the node',
  },
  {
    kind: 'label',
    keys: { prefix: NFD_USB_PREFIX },
    labeler: 'device-labels',
    owner: 'the labels of devices',
    ownership: 'shared',
    value: '`true`',
    presentWhile: 'the agent sees such a device on USB',
  },
  {
    kind: 'label',
    keys: { prefix: NFD_PCI_PREFIX },
    labeler: 'device-labels',
    owner: 'the labels of devices',
    ownership: 'shared',
    value: '`true`',
    presentWhile: 'the agent sees such a device on PCI',
  },
  {
    kind: 'label',
    keys: { prefix: DEVICE_TREE_PREFIX },
    labeler: 'device-labels',
    owner: 'the labels of devices',
    ownership: 'shared',
    value: 'their number',
    presentWhile: 'the device tree contains it',
  },
  {
    kind: 'label',
    keys: { prefix: DEVICE_IDENTITY_PREFIX },
    labeler: 'device-labels',
    owner: 'the labels of devices',
    ownership: 'shared',
    value: '`true`; `NAME.count`: their number; `NAME.driver`: the driver of all',
    presentWhile: 'the agent sees the accelerator; `NAME.driver` while a driver is bound',
  },
  {
    kind: 'label',
    keys: { prefix: FACT_PREFIX },
    labeler: 'fact-labels',
    owner: 'the labels of facts (--fact-labels)',
    ownership: 'shared',
    value: 'the fact',
    presentWhile: '`--fact-labels` lists it',
  },
  {
    kind: 'label',
    keys: { listedIn: MANAGED_LABELS_ANNOTATION },
    labeler: 'pool-labels',
    ownership: 'exclusive',
    value: 'as requested',
    presentWhile: 'the NodePoolLabels or NodePoolLabelSet of the node’s pool requests it',
  },
  {
    kind: 'annotation',
    keys: { name: MANAGED_LABELS_ANNOTATION },
    labeler: 'pool-labels',
    ownership: 'exclusive',
    prune: 'remove',
    value: 'keys',
    presentWhile: 'the node has a label because of its pool',
  },
  {
    kind: 'label',
    keys: { listedIn: KEYS_ANNOTATION },
    labeler: 'implied-labels',
    ownership: 'forced',
    value: '`true`, or the value in the rule',
    presentWhile: 'a rule implies it, the pool does not request the key, and no other writer set it before',
  },
  {
    kind: 'annotation',
    keys: { name: WITHDRAWN_LABELS_ANNOTATION },
    labeler: 'withdrawn-labels',
    ownership: 'forced',
    prune: 'remove',
    value: 'labels',
    presentWhile: 'with `--evict`: rollcall removed a label that is not back',
  },
  {
    kind: 'annotation',
    keys: { name: SCHEDULING_HINT_ANNOTATION },
    labeler: 'scheduling-hint',
    ownership: 'forced',
    value: 'a time',
    presentWhile: 'the coordinator told kube-scheduler to try again',
  },
];

/** Annotations that list labels that are ours. */
export const LISTING_ANNOTATIONS: ReadonlySet<string> = new Set(
  OWN_KEYS.flatMap(({ keys }) => ('listedIn' in keys ? [keys.listedIn] : [])),
);

export function serviceKeys({ name, publish: { label, taint, condition }, origin }: ServiceKeys): KeyEntry[] {
  const owner = origin.kind === 'object' ? `the NodeService ${name}` : `the service ${name} of Gitpod`;
  const base = { labeler: 'readiness', owner, ownership: 'exclusive', prune: 'remove' } as const;
  const entries: KeyEntry[] = [];
  if (label !== undefined) {
    entries.push({ ...base, kind: 'label', keys: { name: label }, value: '`true`', presentWhile: `${name} is ready` });
  }
  if (taint) {
    const where = ', on nodes for workspaces, if `--readiness-gate` uses taints';
    entries.push({
      ...base,
      kind: 'taint',
      keys: { name: taint.key },
      isKept: () => origin.kind === 'object' || origin.gate !== 'label',
      value: `\`${taint.value}:${taint.effect}\``,
      presentWhile: `${name} is not ready${origin.kind === 'built-in' ? where : ''}`,
    });
  }
  if (condition !== undefined) {
    entries.push({
      ...base,
      ownership: 'shared',
      kind: 'condition',
      keys: { name: condition },
      isKept: () => true,
      value: '`True`, `False` or `Unknown`',
      presentWhile: `${name} applies to the node`,
    });
  }
  return entries;
}
