import { KNOWN_TAINT_PREFIXES, STARTUP_TAINT } from '@rollcall/common/well-known.ts';
import { EVERY_NODE, type OnNode } from '@rollcall/coordinator/state/collection.ts';
import type { ObservedDaemonPod, ObservedDaemonSet } from '@rollcall/coordinator/state/daemon-sets.ts';
import type { OnDemandName } from '@rollcall/coordinator/state/on-demand-objects.ts';
import { POOL_LABEL } from './node-services.ts';
import type { NodeTruth } from './truth.ts';
import type { World } from './world.ts';

/** Where its pods belong: in one pool or in all, and behind which taints. */
export type DaemonSpec = { pool?: string; tolerates: 'everything' | 'the gate' | 'nothing' };
type DaemonSet = DaemonSpec & { uid: string; name: string };
/** Times by the wall clock, in seconds. */
type DaemonPod = { name: string; owner: string; node: string; createdAt: number; readySince: number };

/** How long a Node waits for DaemonSets. */
export const DAEMON_GATE = {
  namespaces: [],
  exclude: [],
  startupTaints: [],
  timeoutMs: 600_000,
  onTimeout: 'Open',
} as const;

/** The DaemonSets of a cluster, and their pods. */
export class DaemonSets {
  readonly #world: World;
  readonly #sets = new Map<string, DaemonSet>();
  /** By DaemonSet and node. */
  readonly #pods = new Map<string, DaemonPod>();

  constructor(world: World) {
    this.#world = world;
  }

  /** Whether Nodes wait for them. */
  isOn = false;

  /** Nodes wait for DaemonSets, of which there are two. */
  begin(): void {
    this.isOn = true;
    this.set('d', { tolerates: 'everything' });
    this.set('e', { tolerates: 'the gate' });
  }

  get names(): string[] {
    return [...this.#sets.keys()];
  }

  /** Its pods stay. One that is made anew under its name is another. */
  set(name: string, spec: DaemonSpec | undefined, isNew = false): void {
    const before = this.#sets.get(name);
    if (!spec && !before) return;
    const uid = (!isNew && before?.uid) || this.#world.unique('daemons');
    if (spec) this.#sets.set(name, { ...spec, uid, name });
    else this.#sets.delete(name);
    this.#world.heardByAll('onDemand');
    const object = observedSet({ tolerates: 'nothing', ...spec, uid, name });
    this.#tell('daemonSets', spec ? object : { ...object, node: '' });
  }

  /** `undefined`: it is gone. */
  setPod(daemonSet: string, node: string, isReady: boolean | undefined): void {
    const id = `${daemonSet} ${node}`;
    const before = this.#pods.get(id);
    const owner = this.#sets.get(daemonSet)?.uid;
    if (isReady === undefined || before?.owner !== owner) this.#removePod(id);
    if (isReady === undefined || owner === undefined) return;
    const nowSeconds = Math.ceil(this.#world.clock.now() / 1000);
    const kept = this.#pods.get(id);
    const pod: DaemonPod = {
      ...{ name: kept?.name ?? this.#world.unique('daemon'), owner, node },
      createdAt: kept?.createdAt ?? nowSeconds,
      readySince: isReady ? kept?.readySince || nowSeconds : 0,
    };
    this.#pods.set(id, pod);
    this.#world.heard('onDemand', node);
    this.#tell('daemonPods', observedPod(pod));
  }

  /** Pods come to a new Node, and are not Ready but for those of these DaemonSets. */
  bind(truth: NodeTruth, ready: readonly string[]): void {
    if (this.#world.truths.get(truth.name) !== truth) return;
    for (const name of this.names) this.setPod(name, truth.name, ready.includes(name));
  }

  #removePod(id: string): void {
    const pod = this.#pods.get(id);
    if (!pod) return;
    this.#pods.delete(id);
    this.#world.heard('onDemand', pod.node);
    this.#tell('daemonPods', { ...observedPod(pod), node: '' });
  }

  #tell(collection: OnDemandName, object: OnNode): void {
    this.#world.tell('onDemand', (to) => to.onDemand(collection, object));
  }

  /** What a coordinator that starts now lists. */
  listed(): { collection: OnDemandName; object: OnNode }[] {
    return [
      ...[...this.#sets.values()].map((set) => ({ collection: 'daemonSets', object: observedSet(set) }) as const),
      ...[...this.#pods.values()].map((pod) => ({ collection: 'daemonPods', object: observedPod(pod) }) as const),
    ];
  }

  /** For each DaemonSet that belongs on a node and can come before the gate opens, whether it has a Ready pod of this Node. */
  areThere({ name }: NodeTruth, serviceTaints: ReadonlySet<string>): boolean[] {
    const node = this.#world.nodes.get(name);
    const { labels = {}, creationTimestamp = '' } = node?.metadata ?? {};
    const lasting = (node?.spec?.taints ?? []).filter(({ key }) => !isOfStart(key) && !serviceTaints.has(key));
    const belonging = [...this.#sets.values()].filter(
      ({ pool, tolerates }) =>
        tolerates !== 'nothing' &&
        (pool === undefined || labels[POOL_LABEL] === pool) &&
        (tolerates === 'everything' || lasting.every(({ effect }) => effect === 'PreferNoSchedule')),
    );
    const bornMs = Date.parse(creationTimestamp);
    return belonging.map(({ uid }) =>
      [...this.#pods.values()].some(
        (pod) =>
          pod.owner === uid &&
          pod.node === name &&
          pod.readySince > 0 &&
          (pod.createdAt * 1000 >= bornMs || pod.readySince * 1000 > bornMs),
      ),
    );
  }
}

function isOfStart(key: string): boolean {
  return key.startsWith('gitpod.io/') || KNOWN_TAINT_PREFIXES.some((prefix) => key.startsWith(prefix));
}

const TOLERATIONS = {
  everything: [{ operator: 'Exists' }],
  'the gate': [{ key: STARTUP_TAINT, operator: 'Exists' }],
  nothing: [],
};

function observedSet({ uid, name, pool, tolerates }: DaemonSet): ObservedDaemonSet {
  const template = { tolerations: TOLERATIONS[tolerates], ...(pool ? { nodeSelector: { [POOL_LABEL]: pool } } : {}) };
  return { uid, namespace: 'default', name, labels: {}, template, node: EVERY_NODE };
}

function observedPod({ name, owner, node, createdAt, readySince }: DaemonPod): ObservedDaemonPod {
  const times = { createdAtSeconds: createdAt, readySinceSeconds: readySince };
  return {
    uid: owner,
    namespace: 'default',
    name,
    node,
    ...times,
    ...(readySince > 0 ? {} : { problem: 'is not Ready' }),
  };
}
