import type { Service } from '../setup/services.ts';
import type { NodeRecord } from './node-record.ts';

/** Notes since when the agent of a node is told of these services. Times are monotonic. */
export function noteTold(record: NodeRecord, services: readonly Service[], nowMs: number): void {
  const before = record.told;
  record.told = new Map(services.map((service) => [service, before.get(service) ?? nowMs]));
}
