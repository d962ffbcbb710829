import { nodeSummary } from '@rollcall/common/console.test-fixtures.ts';
import type { NodeSummary } from '@rollcall/common/console.ts';

/** A node of two services, on which all is well, but for what is told. */
export function summary(name: string, change: Partial<NodeSummary> = {}): NodeSummary {
  return nodeSummary({ name, services: { a: 'ready', b: 'ready' }, ...change });
}
