import { createHash } from 'node:crypto';
import { PROBED_KINDS } from '@rollcall/coordinator/decide/readiness/probes.test-fixtures.ts';
import { SHAPED_KINDS } from '../model/kinds.ts';
import { generator } from '../model/random.ts';
import { coordinatorConfig } from './coordinator.ts';
import { DEEDS } from './deeds.ts';
import { Judge } from './judge.ts';
import type { ServiceSpec } from './services.ts';
import { World, type WorldOptions } from './world.ts';

/** One deed, after a pause. `number` is what its choices are drawn from. */
type Step = { pauseMs: number; deed: string; number: number };
export type History = { seed: number; pace: Pace; world: WorldOptions; steps: readonly Step[] };

export type Played = {
  violations: readonly string[];
  /** Digest of all that happened, in hex. */
  digest: string;
  nodeHours: number;
};

const STEPS = 40;
/** How fast a cluster lives. */
type Pace = {
  pausesMs: readonly number[];
  periodsMs: readonly number[];
  /** How many times as long the longest outages last. */
  stretch: number;
};
/** Everything happens at once: what overlaps is found here. */
const HURRIED: Pace = {
  pausesMs: [0, 20, 500, 3000, 12_000, 40_000, 120_000, 400_000],
  periodsMs: [1000, 5000, 10_000],
  stretch: 1,
};
/** A day or two, with outages of hours: what expires, ages, piles up or comes too late is found here. */
const PATIENT: Pace = {
  pausesMs: [0, 20_000, 120_000, 600_000, 3_600_000, 10_800_000],
  periodsMs: [10_000, 30_000, 60_000],
  stretch: 60,
};
/** After everything has healed: what was silent has been for long enough, and what was away has come round. */
const HEAL_MS = 240_000;
const QUIET_MS = 90_000;

export function isPatient(seed: number): boolean {
  return seed % 3 === 0;
}

export function historyOf(seed: number): History {
  const pace = isPatient(seed) ? PATIENT : HURRIED;
  const random = generator(seed);
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
  const themes = [...new Set(Object.values(DEEDS).map(({ theme }) => theme))];
  const chosen = new Set(['services', pick(themes), pick(themes), pick(themes)]);
  const deeds = Object.keys(DEEDS).filter((name) => chosen.has(DEEDS[name]?.theme ?? '') && random() < 0.7);
  const services = Array.from({ length: 1 + Math.floor(random() * 3) }, (_, index): ServiceSpec => {
    const probe = pick(['tcp', 'tls', 'tls', undefined] as const);
    return {
      name: `s${index}`,
      port: 9000 + index,
      probe,
      pods: probe === undefined || random() < 0.4,
      seen: undefined,
      periodMs: pick(pace.periodsMs),
      failureThreshold: 1 + Math.floor(random() * 3),
      successThreshold: 1 + Math.floor(random() * 2),
      tier: random() < 0.2 ? 'gpu' : undefined,
      taint: random() < 0.5,
      condition: random() < 0.6,
    };
  });
  const ofKinds = services.map((service) => withKinds(service, generator((seed * 31 + service.port) ^ 0x6b696e64)));
  const nodes = Array.from({ length: 1 + Math.floor(random() ** 2 * 48) }, () => ({
    pool: pick(['a', 'a', 'b']),
    tier: pick(['gpu', 'cpu']),
  }));
  const rates = [0.98 + random() * 0.04, 0.98 + random() * 0.04] as const;
  const steps = Array.from({ length: STEPS }, () => ({
    pauseMs: Math.round(pick(pace.pausesMs) * (0.5 + random())),
    deed: pick(deeds.length > 0 ? deeds : Object.keys(DEEDS)),
    number: Math.floor(random() * 2 ** 31),
  }));
  return { seed, pace, world: { services: ofKinds, nodes, rates, byService: random() < 0.5 }, steps };
}

/** The same service with checks of any kind, in half of all cases. */
function withKinds(service: ServiceSpec, random: () => number): ServiceSpec {
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
  if (random() < 0.5) return service;
  const probe = service.probe === undefined ? undefined : pick(PROBED_KINDS);
  return { ...service, probe, seen: probe === undefined || random() < 0.5 ? pick(SHAPED_KINDS) : undefined };
}

/** Plays a history, and then lets everything come to rest. The same history is played the same, to the last byte. */
export async function play(history: History, trace: (line: string) => void = () => {}): Promise<Played> {
  const { seed, pace, world: options, steps } = history;
  const world = new World(options, seed ^ 0x5bd1e995, await coordinatorConfig());
  const judge = new Judge(world);
  const digest = createHash('sha256');
  let [nodeMs, countedMs] = [0, 0];
  world.tell = (what) => {
    const line = `${(world.nowMs / 1000).toFixed(3).padStart(9)} s  ${what}`;
    digest.update(`${line}\n`);
    trace(line);
  };
  const every = (): void => {
    world.later(1000, every);
    nodeMs += world.nodes.size * (world.nowMs - countedMs);
    countedMs = world.nowMs;
    judge.look();
  };
  every();
  try {
    await advance(60_000);
    for (const step of steps) {
      if (!(await advance(step.pauseMs))) break;
      world.tell(act(world, judge, step, pace));
    }
    if (await advance(1000)) await rest();
  } finally {
    world.end();
  }
  return { violations: judge.violations, digest: digest.digest('hex'), nodeHours: nodeMs / 3_600_000 };

  /** Whether nothing went wrong. */
  async function advance(forMs: number): Promise<boolean> {
    const untilMs = world.nowMs + forMs;
    while (world.nowMs < untilMs && judge.violations.length === 0) {
      await world.clock.advance(Math.min(1000, untilMs - world.nowMs));
    }
    return judge.violations.length === 0;
  }

  async function rest(): Promise<void> {
    world.tell('everything heals');
    // Deeds that have begun end by themselves.
    if (!(await advance(300_000 * pace.stretch))) return;
    world.heal();
    judge.troubles.add('all', 0);
    for (const node of world.nodes.values()) judge.troubles.add(node, 0);
    if (!(await advance(Math.max(HEAL_MS, judge.heldUntilMs - world.nowMs + 20_000)))) return;
    judge.violations.push(...judge.wrong().map((wrong) => `at rest: ${wrong}`));
    for (const name of world.nodes.keys()) world.server.nodes.touch(name);
    const before = world.nodeRequests;
    if (!(await advance(QUIET_MS))) return;
    const sent = world.nodeRequests - before;
    if (sent > 0) judge.violations.push(`at rest: ${sent} writes to Nodes in a quiet minute`);
  }
}

function act(world: World, judge: Judge, { deed, number }: Step, { stretch }: Pace): string {
  const random = generator(number);
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
  const node = pick([...world.nodes.values()]);
  const service = pick([...world.services.values()]);
  const coordinator = random() < 0.7 ? (world.leader ?? pick(world.coordinators)) : pick(world.coordinators);
  // Squared, so that most are short.
  const between = (fromMs: number, toMs: number) => Math.round(fromMs + random() ** 2 * (stretch * toMs - fromMs));
  const isPossible = node && service && coordinator && !coordinator.machine.isDead;
  if (isPossible) DEEDS[deed]?.act({ world, judge, node, service, coordinator, random, between });
  return `${deed} (${node?.name}, ${service?.name}, ${coordinator?.name})`;
}
