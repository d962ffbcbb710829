import { FakeClock } from '@rollcall/common/testing/fake-clock.ts';
import type { ReadinessGate } from '@rollcall/coordinator/model/services.ts';
import { DEEDS, type Deed } from './deeds.ts';
import { REQUIREMENTS } from './gate-deeds.ts';
import { Judge } from './judge.ts';
import { drawSpec, NODE_SERVICE_NAMES, PORTS } from './node-services.ts';
import { generator } from './random.ts';
import { SERVICE_NAMES } from './truth.ts';
import { World } from './world.ts';
import type { WorldOptions } from './world-options.ts';

/** One deed, after a pause. `number` is what its choices are drawn from. */
type Step = { pauseMs: number; deed: string; number: number };
export type History = { seed: number; world: WorldOptions; steps: readonly Step[] };

const STEPS = 24;
const GATES: readonly ReadinessGate[] = ['label', 'taint', 'both'];
/** Themes that take larger fleets, and have histories of their own. */
const OF_FLEETS: readonly Deed['theme'][] = ['versions', 'hanging'];
const HAVE_SERVICES: readonly Deed['theme'][] = ['node-services', 'mass', 'eviction', 'claims'];
const PAUSES_MS = [0, 5, 50, 400, 1000, 3000, 8000, 20_000, 45_000, 130_000];

/** Of few themes, since what goes wrong often takes several deeds of a kind. */
export function historyOf(seed: number): History {
  const kind = seed % 32;
  if (kind === 5) return versionHistoryOf(seed);
  if (kind === 27) return hangingHistoryOf(seed);
  return mixedHistoryOf(seed);
}

function mixedHistoryOf(seed: number): History {
  const random = generator(seed);
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
  const allowed = Object.keys(DEEDS).filter((name) => !OF_FLEETS.includes(DEEDS[name]?.theme ?? 'services'));
  const themes = [...new Set(allowed.map((name) => DEEDS[name]?.theme))];
  const chosen = [pick(themes), pick(themes), pick(themes)];
  const deeds = allowed.filter((name) => chosen.includes(DEEDS[name]?.theme ?? 'services') && random() < 0.7);
  const pauses = PAUSES_MS.slice(0, 3 + Math.floor(random() * (PAUSES_MS.length - 2)));
  // A large fleet costs five times as much.
  const isLarge = chosen.includes('mass') && !chosen.includes('claims') && random() < 0.4;
  const nodes = Array.from({ length: 1 + Math.floor(random() * 3) + (isLarge ? 10 : 0) }, () => ({
    pool: pick(['a', 'a', 'b']),
    forWorkspaces: random() < 0.8,
  }));
  const steps = Array.from({ length: STEPS }, () => ({
    pauseMs: Math.round(pick(pauses) * (0.5 + random())),
    deed: pick(deeds.length > 0 ? deeds : allowed),
    number: Math.floor(random() * 2 ** 31),
  }));
  const gate = pick(GATES);
  const specs = NODE_SERVICE_NAMES.map((name) => [name, drawSpec(name, { random, pick })] as const);
  const nodeServices = Object.fromEntries(specs.filter(() => random() < 0.7));
  const startupGate = pick(REQUIREMENTS);
  const evict = { readiness: random() < 0.5 };
  const world = {
    ...{ gate, nodes },
    ...(HAVE_SERVICES.some((theme) => chosen.includes(theme)) ? { nodeServices } : {}),
    ...(chosen.includes('startup-gate') ? { startupGate, daemonGate: seed % 2 === 0 } : {}),
    ...(chosen.includes('eviction') ? { evict } : {}),
    ...(chosen.includes('claims') ? { sharedLabels: true } : {}),
    ...(seed % 2 === 0 ? { rulesAreById: true } : {}),
  };
  return { seed, world, steps };
}

const FLEET_STEPS = 10;
const FLEET_PAUSES_MS = [0, 50, 1000, 5000, 20_000, 100_000, 280_000];
/** Beside the versions of agents. */
const BESIDE_VERSIONS = [
  'services',
  'pods',
  'agents',
  'people',
  'nodes',
  'leaders',
  'faults',
  'node-services',
] as const;

/** Agents of other versions, on so many nodes that most of them may be doubted, with deeds of one more theme. */
function versionHistoryOf(seed: number): History {
  const random = generator(seed);
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
  const beside = random() < 0.5 ? undefined : pick(BESIDE_VERSIONS);
  const deeds = Object.keys(DEEDS).filter((name) => ['versions', beside].includes(DEEDS[name]?.theme));
  const nodes = Array.from({ length: 4 + Math.floor(random() * 4) }, () => ({ pool: 'a', forWorkspaces: true }));
  const ofVersions = Object.keys(DEEDS).filter((name) => DEEDS[name]?.theme === 'versions');
  const steps = Array.from({ length: FLEET_STEPS }, () => ({
    pauseMs: Math.round(pick(FLEET_PAUSES_MS) * (0.5 + random())),
    deed: random() < 0.5 ? pick(ofVersions) : pick(deeds),
    number: Math.floor(random() * 2 ** 31),
  }));
  const gate = pick(GATES);
  const x = { checks: { pods: 'x', port: PORTS[0] }, publish: drawSpec('x', { random, pick }).publish };
  const hasServices = random() < 0.5 || beside === 'node-services';
  const world = { gate, nodes, agentVersion: '1', ...(hasServices ? { nodeServices: { x } } : {}) };
  return { seed, world, steps };
}

/** More nodes than are written at once. */
const HANGING_NODES = 20;
const HANGING_PAUSES_MS = [0, 50, 400, 1000, 3000, 8000];

/** A pool whose writes hang, beside another one. */
function hangingHistoryOf(seed: number): History {
  const random = generator(seed);
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
  const deeds = Object.keys(DEEDS).filter((name) => DEEDS[name]?.theme === 'hanging');
  const pools = [...Array.from({ length: HANGING_NODES }, () => 'a'), 'b', 'b'];
  const steps = Array.from({ length: FLEET_STEPS }, () => ({
    pauseMs: Math.round(pick(HANGING_PAUSES_MS) * (0.5 + random())),
    deed: pick(deeds),
    number: Math.floor(random() * 2 ** 31),
  }));
  return { seed, world: { gate: pick(GATES), nodes: pools.map((pool) => ({ pool, forWorkspaces: true })) }, steps };
}

/** Plays a history, and then lets everything come to rest. What went wrong, and when; nothing where all is well. */
export async function play(
  { seed, world: options, steps }: History,
  trace: (line: string) => void = () => {},
): Promise<string[]> {
  const clock = new FakeClock();
  const world = new World(options, clock, generator(seed ^ 0x5bd1e995));
  const judge = new Judge(world);
  world.wantedOfLate = (name, id) => judge.wantedOfLate(name, id);
  const tell = (line: string) => trace(`${(world.nowMs / 1000).toFixed(3).padStart(9)} s  ${line}`);
  judge.onWrite = tell;
  const look = () => {
    world.agentsLook();
    judge.look();
  };
  world.happened = look;
  const every = (): void => {
    judge.look();
    world.tick();
    look();
    clock.after(1000, every);
  };
  clock.after(1000, every);
  try {
    look();
    await clock.advance(5000);
    for (const step of steps) {
      await clock.advance(step.pauseMs);
      tell(act(world, step));
      look();
      if (judge.violations.length > 0) return judge.violations;
    }
    tell('everything heals');
    await rest(world, judge);
    return judge.violations;
  } finally {
    world.stop();
  }
}

function act(world: World, { deed, number }: Step): string {
  const random = generator(number);
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
  const truth = pick([...world.truths.values()]);
  const service = pick(SERVICE_NAMES);
  if (truth) DEEDS[deed]?.act({ world, truth, service, random, pick });
  return `${deed} (${truth?.name}, ${service})`;
}

const SETTLE_MS = 50_000;
const QUIET_MS = 60_000;
/** Longer than a startup gate, a guard or a contest takes. */
const REST_MS_MAX = 7_200_000;

/** Faults end, one agent lives on each node; then what was held back is waited for. A quiet minute must be quiet. */
async function rest(world: World, judge: Judge): Promise<void> {
  world.heal();
  const { clock } = world;
  for (const truth of world.truths.values()) {
    for (const agent of truth.agents.slice(0, -1)) world.endAgentPod(truth, agent);
    if (truth.alive.size === 0) world.startAgent(truth);
  }
  world.happened();
  await clock.advance(SETTLE_MS);
  const latestMs = world.nowMs + REST_MS_MAX;
  while (judge.excusedUntilMs > world.nowMs && world.nowMs < latestMs && judge.violations.length === 0)
    await clock.advance(Math.max(1000, judge.excusedUntilMs + 5000 - world.nowMs));
  if (world.nowMs >= latestMs) judge.violations.push('at rest: what is excused never ends');
  judge.violations.push(...judge.wrong().map((wrong) => `at rest: ${wrong}`));
  const before = world.requests;
  for (const name of world.truths.keys()) world.nodes.touch(name);
  await clock.advance(QUIET_MS);
  const after = world.requests - before;
  if (after > 0) judge.violations.push(`at rest: ${after} requests in a quiet minute`);
}
