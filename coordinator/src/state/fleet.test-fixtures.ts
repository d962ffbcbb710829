import { Fleet, type FleetListener, type FleetOptions } from './fleet.ts';
import type { ObservedNode } from './observed-node.ts';
import type { ObservedPod } from './observed-pod.ts';
import { type ObservedPoolLabelSet, POOL_LABEL_KINDS } from './pool-label-sets.ts';

/** Without pools and services, if nothing else is given. */
export function fleetWith(
  change: Pick<FleetOptions, 'clock'> & Partial<FleetOptions>,
  listener: Partial<FleetListener> = {},
): Fleet {
  const fleet = new Fleet({
    services: () => [],
    servicesKnown: () => true,
    poolLabels: [],
    windowMs: 30_000,
    guardPercent: 55,
    annotationsOfInterest: new Set(),
    allAnnotations: false,
    ...change,
  });
  fleet.onChange({
    changed: () => {},
    versionChanged: () => {},
    gone: () => {},
    poolsChanged: () => {},
    ...listener,
  });
  return fleet;
}

/** Lists copies of these sets to the fleet, and no others, each with the objects of its kind. */
export function listPoolLabels(fleet: Fleet, sets: readonly ObservedPoolLabelSet[] = []): void {
  for (const kind of POOL_LABEL_KINDS) {
    fleet.poolLabelSets.handlers(kind).onReplace(sets.flatMap((set) => (set.kind === kind ? [{ ...set }] : [])));
  }
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
export function watchedFleet(
  names: readonly string[],
  change: Pick<FleetOptions, 'clock'> & Partial<FleetOptions>,
  listener: Partial<FleetListener> = {},
) {
  const news: string[] = [];
  const changed = (node: string, urgent: boolean) => news.push(`${node} ${urgent ? 'urgent' : 'normal'}`);
  const fleet = fleetWith(change, { changed, ...listener });
  const node = (name: string, labels: Record<string, string> = {}, resourceVersion = '1', uid = `uid-${name}`) =>
    fleet.observe({ metadata: { name, uid, resourceVersion, labels } }) satisfies ObservedNode;
  const told = () => news.splice(0);
  fleet.nodeHandlers.onReplace(names.map((name) => node(name)));
  told();
  return { fleet, node, told };
}
