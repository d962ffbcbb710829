import type { ObjectMeta } from '../kube/objects.ts';

/**
 * When an object was last written, by the API server's clock, in milliseconds since the epoch: what was written before a
 * Node was created says nothing of that Node.
 */
export function lastWriteMs({ creationTimestamp = '', managedFields = [] }: ObjectMeta): number {
  const times = [creationTimestamp, ...managedFields.map(({ time = '' }) => time)].map((time) => Date.parse(time));
  const known = times.filter((time) => !Number.isNaN(time));
  return known.length === 0 ? Number.POSITIVE_INFINITY : Math.max(...known);
}
