import { Fleet, type FleetOptions } from './fleet.ts';
import type { ObservedNode } from './observed-node.ts';
import type { ObservedPod } from './observed-pod.ts';

/** Without pools and services, unless told. */
export function fleetWith(change: Pick<FleetOptions, 'clock'> & Partial<FleetOptions>): Fleet {
  return new Fleet({
    services: () => [],
    servicesKnown: () => true,
    poolLabels: [],
    windowMs: 30_000,
    guardPercent: 55,
    annotationsOfInterest: new Set(),
    allAnnotations: false,
    onDirty: () => {},
    onNodeGone: () => {},
    ...change,
  });
}

const TOLERATIONS: readonly never[] = [];

/** The pod of an agent, or one that is different in something. */
export function agentPod(name: string, node: string, change: Partial<ObservedPod> = {}): ObservedPod {
  return {
    uid: `uid-${name}`,
    namespace: 'rollcall',
    name,
    labels: {},
    daemonSet: 'rollcall-agent',
    tolerations: TOLERATIONS,
    node,
    createdAtMs: 0,
    podIP: '',
    hostIP: '',
    ready: true,
    terminating: false,
    startTime: '',
    readySinceMs: 0,
    ...change,
  };
}

/** A fleet of these nodes that tells, once, which of them were to be looked at since it was asked before. */
export function watchedFleet(names: readonly string[], change: Pick<FleetOptions, 'clock'> & Partial<FleetOptions>) {
  const news: string[] = [];
  const onDirty = (node: string, urgent: boolean) => news.push(`${node} ${urgent ? 'urgent' : 'normal'}`);
  const fleet = fleetWith({ onDirty, ...change });
  const node = (name: string, labels: Record<string, string> = {}, resourceVersion = '1', uid = `uid-${name}`) =>
    fleet.observe({ metadata: { name, uid, resourceVersion, labels } }) satisfies ObservedNode;
  const told = () => news.splice(0);
  fleet.nodeHandlers.onReplace(names.map((name) => node(name)));
  told();
  return { fleet, node, told };
}
