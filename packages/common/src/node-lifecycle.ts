import { KUBELET_CONDITIONS } from './well-known.ts';

/**
 * Conditions of Nodes about drains, maintenance and shutdown (KEP-5683, alpha in Kubernetes 1.37), which administrators and
 * their controllers write. rollcall reads them, and never writes them.
 */
export const LIFECYCLE_CONDITIONS: readonly string[] = [
  'GracefulNodeShutdownInProgress',
  'DrainInProgress',
  'Drained',
  'MaintenancePlanned',
  'MaintenanceInProgress',
];

/** Conditions that rollcall never writes or removes, whatever a Node lists. */
export const CONDITIONS_OF_OTHERS: readonly string[] = [...KUBELET_CONDITIONS, ...LIFECYCLE_CONDITIONS];

/** Whether services of a node may fail because of these conditions, which are True on it. A plan alone disturbs nothing. */
export function isDisturbed(lifecycle: readonly string[]): boolean {
  return lifecycle.some((type) => type !== 'MaintenancePlanned');
}
