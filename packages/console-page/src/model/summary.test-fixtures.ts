import type { NodeSummary } from '@rollcall/common/console.ts';

/** A node on which all is well, but for what is told. */
export function summary(name: string, change: Partial<NodeSummary> = {}): NodeSummary {
  return {
    name,
    agent: 'fresh',
    services: { a: 'ready', b: 'ready' },
    heldBack: [],
    contested: [],
    setAside: [],
    pending: false,
    ...change,
  };
}
