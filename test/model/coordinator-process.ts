import type { KubeClient, KubeRequest } from '@rollcall/coordinator/kube/client.ts';
import { createModelClient } from './api-server/client.ts';
import { LaggingLine } from './api-server/watch.ts';
import { MachineClock } from './machine-clock.ts';
import { LAG_MS } from './news.ts';
import { HeldPodWatch } from './node-holds.ts';
import { POOL_LABEL } from './node-services.ts';
import { NO_RULES } from './rules.ts';
import { Replica } from './system.ts';
import { watchedIn } from './watched.ts';
import type { World } from './world.ts';

export type Lines = Record<
  'nodes' | 'pods' | 'agents' | 'sets' | 'workspaces' | 'services' | 'csiNodes' | 'onDemand' | 'holds',
  LaggingLine
>;

const LATENCY_MS = 15;

type Options = {
  /** Of the pods that services select. */
  components: readonly string[];
  dryRun: boolean;
  keepsLedger: boolean;
  wholeNodes: boolean;
  /** It found that it no longer leads. */
  onStoppedLeading: () => void;
};

/** One process of a coordinator, which has listed everything, and the watches by which it hears of what follows. */
export class CoordinatorProcess {
  readonly replica: Replica;
  readonly lines: Lines;
  readonly heldPods: HeldPodWatch;
  readonly clock: MachineClock;
  readonly startedMs: number;
  /** Whether it has listed NodeServices. */
  knowsServices: boolean;

  constructor(world: World, { components, onStoppedLeading, ...modes }: Options) {
    const { random, nodes, gate, startupGate = [], daemonSets, evict } = world;
    const clock = new MachineClock(world.clock);
    this.clock = clock;
    this.startedMs = world.nowMs;
    this.knowsServices = !world.serviceWrites.areLost;
    const line = () => new LaggingLine(clock, () => random() * LAG_MS);
    const latencyMs = () => 1 + random() * LATENCY_MS;
    this.heldPods = new HeldPodWatch(() => world.heldPods.values(), line);
    this.lines = {
      ...{ nodes: line(), pods: line(), agents: line(), sets: line(), workspaces: line() },
      ...{ services: line(), csiNodes: line(), onDemand: line(), holds: line() },
    };
    const client = createModelClient({
      nodes,
      // What is under way arrives, whatever becomes of the machine.
      clock: world.clock,
      fate: (request) => world.faults.fate(request, concernedBy(request, world)),
      latencyMs,
      elsewhere: (request) => world.workloads.answer(request),
      // Those who evict look again and again.
      onRequest: ({ path }) => {
        if (path.startsWith('/api/v1/nodes')) world.requests += 1;
      },
    });
    const request: KubeClient['request'] = (each) => {
      if (each.method !== 'GET') world.onSend(this, each);
      return client.request<never>(each).finally(() => clock.awake());
    };
    this.replica = new Replica({
      ...{
        client: { ...client, request },
        gate,
        startupGate,
        daemonGate: daemonSets.isOn,
        evict,
        clock,
        random,
        ...modes,
      },
      rules: () => (world.rulesOn ? world.rules : NO_RULES),
      watched: watchedIn(world, components),
      watchHeldPods: (...wanted) => this.heldPods.want(...wanted),
      onStoppedLeading,
    });
  }
}

function concernedBy({ path }: KubeRequest, { nodes }: World): { node: string; pool: string } {
  const [, node = ''] = /^\/api\/v1\/nodes\/([^/]+)/.exec(path) ?? [];
  return { node, pool: nodes.get(node)?.metadata.labels?.[POOL_LABEL] ?? '' };
}
