import { type Service, singleChecksOf } from '../model/services.ts';
import type { ObservedNode } from './observed-node.ts';

/** Whether rollcall itself said on a Node that a service is ready, for which an agent must have spoken. */
export function saysReady({ owned, conditions, conditionOwners }: ObservedNode, service: Service): boolean {
  const { label, condition } = service.publish;
  if (!singleChecksOf(service).some(({ kind }) => kind === 'probe' || kind === 'device')) return false;
  if (label !== undefined && owned.labels.has(label)) return true;
  return (
    condition !== undefined &&
    conditionOwners?.ours.has(condition) === true &&
    conditions?.some(({ type, status }) => type === condition && status === 'True') === true
  );
}
