import { fencePolicies } from './fence-policy.ts';
import { manifestText } from './manifest.ts';
import { POOL_LABEL_SET_CRD } from './pool-label-set.ts';
import { poolLabelsPolicy } from './pool-labels-policy.ts';
import { DEFAULT_SETTINGS } from './settings.ts';
import { startupTaintPolicy } from './startup-taint-policy.ts';

/** A file that is made from the source as a whole. */
export type GeneratedFile = { file: string; content: string };

/** Every manifest that is applied as it is. */
export function manifestFiles(): GeneratedFile[] {
  const crd = { about: 'Labels for the nodes of a pool.', object: POOL_LABEL_SET_CRD };
  return [
    { file: 'deploy/crds/nodepoollabelsets.yaml', content: manifestText([crd]) },
    { file: 'deploy/policies/pool-labels.yaml', content: poolLabelsPolicy(DEFAULT_SETTINGS) },
    { file: 'deploy/policies/startup-taint.yaml', content: startupTaintPolicy() },
    { file: 'deploy/policies/fence.yaml', content: fencePolicies(DEFAULT_SETTINGS) },
  ];
}
