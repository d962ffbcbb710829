import type { KubeRequest } from '@rollcall/coordinator/kube/client.ts';
import { queryOf } from '@rollcall/coordinator/kube/https-client.ts';
import { generator } from '../../model/random.ts';
import { coordinatorConfig, type SimCoordinator } from '../../simulate/coordinator.ts';
import { PATHS, World, type WorldOptions } from '../../simulate/world.ts';

/**
 * What happened, in the order in which it did: `LeaseTrace.tla` says what each means. Times are ticks of the clock of the
 * world; coordinators are numbered as they start.
 */
export type TraceEvent =
  | ['tick']
  | ['rest' | 'answer' | 'give up' | 'free' | 'lead' | 'stop', by: string]
  | ['ask', by: string, kind: 'renew' | 'take']
  | ['put' | 'late', by: string, result: 'won' | 'lost']
  | ['write', by: string, name: number, ticks: number]
  | ['effect', by: string, name: number]
  | ['done', by: string, name: number, how: 'answered' | 'given up'];

export const TICK_MS = 500;
/** Most processes of coordinators in one trace; with another, it ends. */
export const COORDINATORS = ['c1', 'c2', 'c3', 'c4', 'c5', 'c6'] as const;
/** What the API server is told where a write has no time: more than any has. */
const FOREVER_TICKS = 1_000_000;
const TRACE_MS = 60_000;
const NODES = '/api/v1/nodes/';

/** Plays a short life of two coordinators that are disturbed all the time, and tells it as events. The same for the same seed. */
export async function recordTrace(seed: number): Promise<TraceEvent[]> {
  const random = generator(seed);
  const service = {
    ...{ name: 's', port: 9000, probe: 'tcp', pods: false, seen: undefined, periodMs: 1000 },
    ...{ failureThreshold: 1, successThreshold: 1, tier: undefined, taint: false, condition: false },
  };
  const options: WorldOptions = {
    services: [service],
    nodes: Array.from({ length: 2 }, () => ({ pool: 'a', tier: 'cpu' })),
    rates: [0.98 + random() * 0.04, 0.98 + random() * 0.04],
    byService: false,
  };
  const world = new World(options, seed ^ 0x5bd1e995, await coordinatorConfig());
  const recorder = new Recorder(world);
  try {
    let nextMs = 0;
    while (world.nowMs < TRACE_MS && !recorder.isFull) {
      if (world.nowMs >= nextMs) {
        disturb(world, recorder, random);
        nextMs = world.nowMs + random() ** 2 * 9000;
      }
      await world.clock.advance(20);
    }
  } finally {
    recorder.end();
    world.end();
  }
  return recorder.events;
}

class Recorder {
  readonly events: TraceEvent[] = COORDINATORS.map((name) => ['rest', name]);
  readonly #world: World;
  readonly #names = new Map<SimCoordinator, string>();
  readonly #leading = new Set<SimCoordinator>();
  readonly #stopping = new Set<SimCoordinator>();
  /** Requests under way, with what is to be done when the API server carries them out. */
  readonly #underWay = new Map<KubeRequest, (isConflict: boolean) => void>();
  #writes = 0;
  #ticks = 0;
  isFull = false;
  #hasEnded = false;

  constructor(world: World) {
    this.#world = world;
    world.onSent = (...sent) => this.#sent(...sent);
    world.onCarriedOut = (request) => this.#carriedOut(request);
    world.onStep = () => this.looks();
    const tick = () => {
      this.#tell(['tick']);
      this.#ticks += 1;
      world.clock.after((this.#ticks + 1) * TICK_MS - world.nowMs, tick);
    };
    world.clock.after(TICK_MS, tick);
    for (const coordinator of world.coordinators) this.started(coordinator);
  }

  end(): void {
    this.#hasEnded = true;
  }

  /** Another process. */
  started(coordinator: SimCoordinator): void {
    const name = COORDINATORS[this.#names.size];
    if (name === undefined) this.isFull = true;
    if (name === undefined || this.#names.has(coordinator)) return;
    this.#names.set(coordinator, name);
    this.#tell(['rest', name]);
  }

  /** Its machine stands still, or goes on; or its process is gone. */
  rests(coordinator: SimCoordinator): void {
    this.looks();
    const name = this.#names.get(coordinator);
    if (name !== undefined) this.#tell(['rest', name]);
  }

  /** It stops in order: it leads until the Lease is free, although it says at once that it does not. */
  stops(coordinator: SimCoordinator): void {
    this.looks();
    this.#stopping.add(coordinator);
  }

  /** Who says that they lead. */
  looks(): void {
    for (const [coordinator, name] of this.#names) {
      const leads = coordinator.mayWriteMs > 0;
      if (leads === this.#leading.has(coordinator) || this.#stopping.has(coordinator)) continue;
      if (leads) this.#leading.add(coordinator);
      else this.#leading.delete(coordinator);
      this.#tell([leads ? 'lead' : 'stop', name]);
    }
  }

  #tell(event: TraceEvent): void {
    if (!this.#hasEnded && !this.isFull) this.events.push(event);
  }

  #sent(coordinator: SimCoordinator, request: KubeRequest): (how: 'answered' | 'given up') => void {
    const by = this.#names.get(coordinator);
    const { method, path } = request;
    if (by === undefined || method === 'GET') return () => {};
    if (path.startsWith(NODES)) return this.#sentWrite(by, request);
    if (method === 'PUT' && path.startsWith(PATHS.leases)) return this.#sentLease(coordinator, by, request);
    return () => {};
  }

  #sentWrite(by: string, request: KubeRequest): (how: 'answered' | 'given up') => void {
    this.#writes += 1;
    const name = this.#writes;
    const milliseconds = Number.parseInt(queryOf(request)?.['timeout'] ?? '', 10);
    const ticks = Number.isNaN(milliseconds) ? FOREVER_TICKS : Math.floor(milliseconds / TICK_MS);
    this.#tell(['write', by, name, ticks]);
    this.#underWay.set(request, () => this.#tell(['effect', by, name]));
    return (how) => this.#tell(['done', by, name, how]);
  }

  #sentLease(coordinator: SimCoordinator, by: string, request: KubeRequest): (how: 'answered' | 'given up') => void {
    const { holderIdentity } = (request.body as { spec: { holderIdentity?: string } }).spec;
    if (!holderIdentity) {
      this.#underWay.set(request, (isConflict) => {
        if (!isConflict) this.#tell(['free', by]);
      });
      return () => {};
    }
    let [isUp, isKnown] = [false, false];
    this.looks();
    this.#tell(['ask', by, coordinator.mayWriteMs > 0 ? 'renew' : 'take']);
    this.#underWay.set(request, (isConflict) => {
      isKnown = true;
      this.#tell([isUp ? 'late' : 'put', by, isConflict ? 'lost' : 'won']);
    });
    return (how) => {
      isUp = true;
      // An error of the API server says nothing of the Lease.
      this.#tell([how === 'answered' && isKnown ? 'answer' : 'give up', by]);
    };
  }

  #carriedOut(request: KubeRequest): void {
    const act = this.#underWay.get(request);
    this.#underWay.delete(request);
    const { body, path } = request;
    const [, name = ''] = /\/leases\/(.*)$/.exec(path) ?? [];
    const isOther = (object: unknown) =>
      versionOf(object) !== versionOf(this.#world.server.collection(PATHS.leases).get(name));
    act?.(name !== '' && isOther(body));
  }
}

function versionOf(object: unknown): string {
  const { uid, resourceVersion } =
    (object as { metadata?: { uid?: string; resourceVersion?: string } })?.metadata ?? {};
  return `${uid} ${resourceVersion}`;
}

/** One thing that goes wrong, or that gives the leader something to write. */
function disturb(world: World, recorder: Recorder, random: () => number): void {
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
  const between = (fromMs: number, toMs: number) => fromMs + random() * (toMs - fromMs);
  const coordinator = random() < 0.7 ? (world.leader ?? pick(world.coordinators)) : pick(world.coordinators);
  const index = coordinator.name.endsWith('0') ? 0 : 1;
  const { machine } = coordinator;
  const way = world.apiWays[index];
  const turn = () => {
    for (const { sockets } of world.nodes.values()) sockets.set(9000, sockets.stateOf(9000) === 'up' ? 'down' : 'up');
    world.onTruth();
  };
  const isWell = !machine.isDead && !machine.isPaused;
  const restart = (afterMs: number) =>
    world.later(afterMs, () => {
      world.startCoordinator(index);
      const next = world.coordinators[index];
      if (next) recorder.started(next);
    });
  const deeds: (() => void)[] = [
    turn,
    turn,
    turn,
    () => {
      way.partitioned = true;
      if (random() < 0.3) machine.cutStreams();
      world.later(between(500, 16_000), () => {
        way.partitioned = false;
        machine.heal();
      });
    },
    () => {
      machine.pause();
      world.later(between(500, 16_000), () => !machine.isDead && !machine.isSuspended && machine.resume());
    },
    () => {
      machine.suspend();
      recorder.rests(coordinator);
      world.later(between(2000, 16_000), () => {
        if (machine.isDead) return;
        recorder.rests(coordinator);
        machine.resume();
      });
    },
    () => {
      const what = pick(['failsBefore', 'failsAfter'] as const);
      way[what] = 0.5;
      world.later(between(1000, 8000), () => {
        way[what] = 0;
      });
    },
    () => {
      const { latency } = way;
      const forMs = between(1000, 12_000);
      way.latency = () => 100 + random() * 2300;
      // What is written soon after a late answer shows from when the leader counts.
      for (let atMs = 0; atMs < forMs; atMs += 1000) world.later(atMs, turn);
      world.later(forMs, () => {
        way.latency = latency;
      });
    },
    () => {
      machine.kill();
      recorder.rests(coordinator);
      restart(between(500, 8000));
    },
    () => {
      recorder.stops(coordinator);
      void coordinator.stop().then(() => recorder.rests(coordinator));
      restart(between(6000, 9000));
    },
  ];
  if (isWell) pick(deeds)();
  else turn();
}
