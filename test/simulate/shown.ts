import type { Node } from '@rollcall/coordinator/kube/objects.ts';
import { conditionOf, labelOf, type ServiceSpec, taintOf } from './services.ts';

/** What a Node shows of a service. */
export type Shown = { label: boolean; taint: boolean; condition: string | undefined };

export function shownOf({ metadata, spec, status }: Node, service: Pick<ServiceSpec, 'name'>): Shown {
  const condition = conditionOf(service);
  return {
    label: metadata.labels?.[labelOf(service)] === 'true',
    taint: spec?.taints?.some(({ key }) => key === taintOf(service)) === true,
    condition: status?.conditions?.find(({ type }) => type === condition)?.status,
  };
}

/** The first thing that a write changed beside what says something of these services; `undefined` where there is none. */
export function foreignChange(before: Node, after: Node, names: Iterable<string>): string | undefined {
  const services = [...names].map((name) => ({ name }));
  const [labels, taints, conditions] = [labelOf, taintOf, conditionOf].map((of) => new Set(services.map(of)));
  const others = (node: Node) => ({
    labels: without(node.metadata.labels, (key) => labels?.has(key) === true),
    annotations: without(node.metadata.annotations, (key) => key.startsWith('rollcall.dev/')),
    taints: node.spec?.taints?.filter(({ key }) => !taints?.has(key)) ?? [],
    conditions: node.status?.conditions?.filter(({ type }) => !conditions?.has(type)) ?? [],
    uid: node.metadata.uid,
  });
  const [old, now] = [others(before), others(after)];
  const kinds = Object.keys(old) as (keyof typeof old)[];
  const changed = kinds.find((kind) => JSON.stringify(old[kind]) !== JSON.stringify(now[kind]));
  return changed && `${changed}: ${JSON.stringify(old[changed])} became ${JSON.stringify(now[changed])}`;
}

function without(map: Record<string, string> = {}, isOurs: (key: string) => boolean): [string, string][] {
  return Object.entries(map)
    .filter(([key]) => !isOurs(key))
    .sort(([a], [b]) => (a < b ? -1 : 1));
}
