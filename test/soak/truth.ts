import { isDeepStrictEqual } from 'node:util';
import {
  FIELD_MANAGER,
  KEYS_ANNOTATION,
  readyLabel,
  SERVICES_STARTED_ANNOTATION,
} from '@rollcall/common/well-known.ts';
import type { ApiClient } from '../control-plane/api-client.ts';
import type { NodeObject } from '../control-plane/cluster.ts';
import { watchNodes } from '../control-plane/watch.ts';
import { type ServiceStatus, statusOf } from '../e2e/services/node-services.ts';
import type { Service, SoakNode } from './nodes.ts';

/** Keys that show whether a service is ready. */
type Keys = { label: string; taint?: string; condition?: string };
const published = (name: string): Required<Keys> => ({
  label: `service.rollcall.dev/${name}`,
  taint: `readiness.k8s.io/${name}`,
  condition: `service.rollcall.dev/${name}`,
});
const KEYS: Readonly<Record<Service, Keys>> = {
  'ws-daemon': { label: readyLabel('ws-daemon', 'default') },
  'registry-facade': { label: readyLabel('registry-facade', 'default') },
  mirror: published('mirror'),
  web: published('web'),
};
const SERVICES = Object.keys(KEYS) as Service[];

/** Prefix of foreign keys that the harness changes, besides the foreign keys that exist anyway. */
export const FOREIGN = 'foreign.example.com/';

/** Something on a Node, or in the status of a NodeService, that is not so. */
export type Lie = { node: string; what: string; wanted: string; found: string };
type State = 'ready' | 'not ready' | 'silent' | 'none';
const CONDITION = { ready: 'True', 'not ready': 'False', silent: 'Unknown', none: undefined } as const;

async function stateOf(node: SoakNode, service: Service): Promise<State> {
  if (!node.services.includes(service)) return 'none';
  if (node.isSilent) return 'silent';
  return (await node.isUp(service)) ? 'ready' : 'not ready';
}

/** What a Node says of a service: label, taint, condition. */
function said({ metadata, spec, status }: NodeObject, { label, taint, condition }: Keys) {
  return {
    label: metadata.labels?.[label],
    taint: taint === undefined ? undefined : spec.taints?.find(({ key }) => key === taint)?.effect,
    condition: status.conditions?.find(({ type }) => type === condition)?.status,
  };
}

function wantedOf(state: State, { taint, condition }: Keys): ReturnType<typeof said> {
  return {
    label: state === 'ready' ? 'true' : undefined,
    taint: taint !== undefined && (state === 'not ready' || state === 'silent') ? 'NoSchedule' : undefined,
    condition: condition === undefined ? undefined : CONDITION[state],
  };
}

/** Content of a Node without the keys of its services, and whether rollcall claims a key of the harness. */
function foreignOf({ metadata, spec, status }: NodeObject): object {
  const keys = Object.values(KEYS);
  const {
    [KEYS_ANNOTATION]: _keys,
    [SERVICES_STARTED_ANNOTATION]: _started,
    ...annotations
  } = metadata.annotations ?? {};
  const labels = { ...metadata.labels };
  for (const { label } of keys) delete labels[label];
  const taints = (spec.taints ?? []).filter(({ key }) => !keys.some(({ taint }) => taint === key));
  const conditions = (status.conditions ?? []).map(({ type }) => type);
  const fields = metadata['managedFields'] as { manager: string; fieldsV1: object }[];
  const claimed = fields.some(
    ({ manager, fieldsV1 }) => manager === FIELD_MANAGER && JSON.stringify(fieldsV1).includes(FOREIGN),
  );
  return {
    ...{ labels, annotations, claimed, unschedulable: spec.unschedulable },
    taints: taints.toSorted((a, b) => a.key.localeCompare(b.key)),
    conditions: conditions.filter((type) => !keys.some(({ condition }) => condition === type)).toSorted(),
  };
}

/** Compares every Node with what is true of it. */
export class Truth {
  readonly #api: ApiClient;
  readonly #nodes: readonly SoakNode[];
  readonly #foreign = new Map<string, object>();
  readonly #seen = new Map<string, string>();
  readonly #stop: () => void;
  /** Names of nodes of which something may change now. */
  readonly touched = new Set<string>();
  /** Changes on nodes to which nothing was done. */
  readonly flaps: Lie[] = [];

  constructor(api: ApiClient, nodes: readonly SoakNode[]) {
    this.#api = api;
    this.#nodes = nodes;
    this.#stop = watchNodes(api, ({ type, object }) => {
      if (type === 'ADDED' || type === 'MODIFIED') this.#see(object as NodeObject);
    });
  }

  stop(): void {
    this.#stop();
  }

  /** Remembers the foreign content of the Nodes, which must stay. */
  async remember(names?: readonly string[]): Promise<void> {
    for (const node of await this.#list())
      if (names?.includes(node.metadata.name) ?? true) this.#foreign.set(node.metadata.name, foreignOf(node));
  }

  /** Everything that is wrong now. */
  async lies(): Promise<Lie[]> {
    const lies: Lie[] = [];
    const counts = new Map<State, number>();
    const objects = new Map((await this.#list()).map((object) => [object.metadata.name, object]));
    for (const node of this.#nodes) {
      const object = objects.get(node.name);
      if (!object) {
        lies.push({ node: node.name, what: 'Node', wanted: 'there', found: 'gone' });
        continue;
      }
      for (const service of SERVICES) {
        const state = await stateOf(node, service);
        if (service === 'mirror') counts.set(state, (counts.get(state) ?? 0) + 1);
        const [wanted, found] = [wantedOf(state, KEYS[service]), said(object, KEYS[service])];
        if (!isDeepStrictEqual(wanted, found)) lies.push(lieOf(node.name, `${service} (${state})`, wanted, found));
      }
      const [wanted, found] = [this.#foreign.get(node.name) ?? {}, foreignOf(object)];
      if (!isDeepStrictEqual(wanted, found)) lies.push(lieOf(node.name, 'what is not ours', wanted, found));
    }
    const [wanted, found] = [countsOf(counts), statusCounts(await statusOf(this.#api, 'mirror'))];
    if (!isDeepStrictEqual(wanted, found)) lies.push(lieOf('NodeService mirror', 'status', wanted, found));
    return lies;
  }

  #list(): Promise<NodeObject[]> {
    return this.#api.list<NodeObject>('/api/v1/nodes');
  }

  #see(object: NodeObject): void {
    const { name } = object.metadata;
    for (const service of SERVICES) {
      // A kubelet starts again what has ended, in its own time.
      if (service === 'web') continue;
      const id = `${name} ${service}`;
      const [before, found] = [this.#seen.get(id), JSON.stringify(said(object, KEYS[service]))];
      this.#seen.set(id, found);
      if (before === undefined || before === found || this.touched.has(name)) continue;
      this.flaps.push({ node: name, what: `${service}, ${new Date().toISOString()}`, wanted: before, found });
    }
  }
}

function lieOf(node: string, what: string, wanted: object, found: object): Lie {
  return { node, what, wanted: JSON.stringify(wanted), found: JSON.stringify(found) };
}

function countsOf(counts: ReadonlyMap<State, number>): object {
  const of = (state: State) => counts.get(state) ?? 0;
  // On silent nodes the condition is Unknown, but the status counts what the label says.
  return { ready: of('ready'), notReady: of('not ready') + of('silent'), unknown: 0 };
}

function statusCounts({ nodes }: ServiceStatus): object {
  return { ready: nodes?.ready ?? 0, notReady: nodes?.notReady ?? 0, unknown: nodes?.unknown ?? 0 };
}
