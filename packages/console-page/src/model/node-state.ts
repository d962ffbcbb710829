import type { NodeSummary, ServiceState } from '@rollcall/common/console.ts';

/** How a node, or a service on it, is shown. The worst first: this is also the order of lists. */
export const STATES = ['not-ready', 'silent', 'held-back', 'guarded', 'unknown', 'none', 'ready'] as const;

export type State = (typeof STATES)[number];

/** How a node is shown as a whole; the most severe thing that is known of it counts. */
export function stateOfNode(node: NodeSummary): State {
  const { agent, guard, heldBack } = node;
  const services = Object.entries(node.services);
  const down = services.filter(([, state]) => state === 'not-ready');
  if (agent === 'silent') return guard === undefined ? 'silent' : 'guarded';
  if (agent === 'absent' && down.length > 0) return 'silent';
  if (down.some(([name]) => !heldBack.includes(name))) return 'not-ready';
  if (down.length > 0) return 'held-back';
  if (services.some(([, state]) => state === 'unknown')) return 'unknown';
  return services.length > 0 ? 'ready' : 'none';
}

/** How a service on a node is shown; `undefined` where the node is not for it. */
export function stateOfService(node: NodeSummary, service: string): State | undefined {
  const states = { ...node.dryRun, ...node.services };
  const state: ServiceState | undefined = Object.hasOwn(states, service) ? states[service] : undefined;
  if (state !== 'not-ready') return state;
  if (node.heldBack.includes(service)) return 'held-back';
  return node.agent === 'silent' || node.agent === 'absent' ? 'silent' : 'not-ready';
}

/** Whether others change or own keys of the node: it is marked, whatever its state. */
export function isDisputed({ contested, skipped }: NodeSummary): boolean {
  return contested.length > 0 || skipped.length > 0;
}

/** Whether a person should look at the node. */
export function needsLook(node: NodeSummary): boolean {
  const state = stateOfNode(node);
  return (state !== 'ready' && state !== 'none') || isDisputed(node);
}

/** States in which something is wrong, or could be. */
export const TROUBLES = ['not-ready', 'silent', 'held-back', 'guarded', 'unknown'] as const;

export function troubles(counts: Counts): number {
  return TROUBLES.reduce((sum, state) => sum + counts[state], 0);
}

export type Counts = Readonly<Record<State, number>>;

export function noCounts(): Record<State, number> {
  return { 'not-ready': 0, silent: 0, 'held-back': 0, guarded: 0, unknown: 0, none: 0, ready: 0 };
}
