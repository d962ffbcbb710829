import { fencePolicies } from './fence-policy.ts';
import { manifestText } from './manifest.ts';
import { NODE_HOLD_CRD } from './node-hold.ts';
import { NODE_SERVICE_CRD } from './node-service.ts';
import { NODE_POOL_LABELS_CRD, POOL_LABEL_SET_CRD } from './pool-label-set.ts';
import { poolLabelsPolicies } from './pool-labels-policy.ts';
import { DEFAULT_SETTINGS } from './settings.ts';
import { startupTaintPolicy } from './startup-taint-policy.ts';

/** A file that is made from the source as a whole. */
export type GeneratedFile = { file: string; content: string };

/** Every manifest that is applied as it is. */
export function manifestFiles(): GeneratedFile[] {
  return [
    ...crdFiles(),
    { file: 'deploy/policies/pool-labels.yaml', content: poolLabelsPolicies(DEFAULT_SETTINGS) },
    { file: 'deploy/policies/startup-taint.yaml', content: startupTaintPolicy() },
    { file: 'deploy/policies/fence.yaml', content: fencePolicies(DEFAULT_SETTINGS) },
  ];
}

/** The CRDs, and the purpose of each. */
export const CRDS = [
  { about: 'Labels for the nodes of a pool.', object: NODE_POOL_LABELS_CRD },
  { about: "Labels for the nodes of a pool, in the form of Banzai Cloud's operator.", object: POOL_LABEL_SET_CRD },
  { about: 'Services that have to be up on nodes.', object: NODE_SERVICE_CRD },
  { about: 'Pods that keep their nodes.', object: NODE_HOLD_CRD },
];

/** The CRDs, each in a file. */
function crdFiles(): GeneratedFile[] {
  return CRDS.map((crd) => ({ file: `deploy/crds/${pluralOf(crd)}.yaml`, content: manifestText([crd]) }));
}

export function pluralOf({ object }: (typeof CRDS)[number]): string {
  return object.metadata.name.split('.')[0] ?? '';
}
