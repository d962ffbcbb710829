import { FakeClock } from '@rollcall/common/testing/fake-clock.ts';
import { notReadyTaint, readyLabel } from '@rollcall/common/well-known.ts';
import { expect, test } from 'vitest';
import { LieCount } from './lies.ts';
import { edit, taint, untaint } from './people.ts';
import { generator } from './random.ts';
import { type NodeTruth, SERVICE_NAMES, type ServiceName } from './truth.ts';
import { World } from './world.ts';

/** Each takes as long as twenty of the others. Of fewer than ten, few count lies of a second. */
const HISTORIES = Math.max(10, Math.ceil(Number(process.env['ROLLCALL_HISTORIES'] ?? 1500) / 50));
const STEPS = 20;
/** Of what happens, the coordinator hears so late by a watch at the most, and a little later it has looked. */
const LATE_SECONDS = 0.45;

type Player = { world: World; truth: NodeTruth; service: ServiceName; random: () => number };

/** What happens to services, and what people do to what shows them. */
const DEEDS: readonly ((player: Player) => void)[] = [
  ({ truth, service }) => {
    truth.up[service] = !truth.up[service];
  },
  ({ world, truth, service }) => {
    const pod = truth.pods[service];
    world.setPod(truth, service, { ready: pod?.ready !== true, terminating: false });
  },
  ({ world, truth, service }) => {
    world.setPod(truth, service, truth.pods[service] ? undefined : { ready: true, terminating: false });
  },
  ({ world, truth, service, random }) => {
    edit(world, truth, {
      labels: { [readyLabel(service, 'default')]: [null, 'true', 'false'][Math.floor(random() * 3)] ?? null },
    });
  },
  ({ world, truth, service, random }) => {
    const key = notReadyTaint(service);
    if (random() < 0.5) taint(world, truth, { key, value: 'true', effect: 'NoSchedule' });
    else untaint(world, truth, key);
  },
  ({ world }) => world.lead(world.leader === 0 ? 1 : 0),
  ({ world, truth }) => {
    const { name } = truth;
    world.deleteNode(truth);
    world.later(3000, () => world.populate(world.createNode(name, 'a', true)));
  },
];

/** As Gitpod's node-labeler does, but for what it takes back: what is ready once keeps its label. */
function labelForGood(world: World): void {
  for (const truth of world.truths.values()) {
    for (const service of SERVICE_NAMES) {
      const label = readyLabel(service, 'default');
      const isReady = truth.up[service] && truth.pods[service]?.ready === true && !truth.pods[service]?.terminating;
      if (!isReady || world.nodes.get(truth.name)?.metadata.labels?.[label] === 'true') continue;
      world.nodes.patch({
        kind: 'merge',
        name: truth.name,
        manager: 'node-labeler',
        body: { metadata: { labels: { [label]: 'true' } } },
      });
    }
  }
}

type Outcome = { counted: ReadonlyMap<string, number>; booked: ReadonlyMap<string, number>; steps: number };

/** `labeler`: who writes in the place of rollcall, which runs dry then. */
async function play(seed: number, pausesMs: readonly number[], labeler?: (world: World) => void): Promise<Outcome> {
  const random = generator(seed);
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
  const clock = new FakeClock();
  const nodes = Array.from({ length: 1 + Math.floor(random() * 3) }, () => ({ pool: 'a', forWorkspaces: true }));
  const modes = { dryRun: labeler !== undefined, keepsLedger: true };
  const world = new World({ gate: pick(['label', 'both']), nodes, ...modes }, clock, generator(seed ^ 0x2545f491));
  const count = new LieCount(world);
  world.onWrite = () => count.look();
  const look = () => {
    labeler?.(world);
    world.agentsLook();
    count.look();
  };
  world.happened = look;
  const every = (): void => {
    world.tick();
    look();
    clock.after(1000, every);
  };
  clock.after(1000, every);
  try {
    look();
    await clock.advance(5000);
    for (let step = 0; step < STEPS; step += 1) {
      await clock.advance(Math.round(pick(pausesMs) * (0.5 + random())));
      const truth = pick([...world.truths.values()]);
      count.look();
      if (truth) pick(DEEDS)({ world, truth, service: pick(SERVICE_NAMES), random });
      look();
    }
    await clock.advance(5000);
    count.look();
    return { counted: count.seconds, booked: world.lieSeconds(), steps: STEPS };
  } finally {
    world.stop();
  }
}

/** What the book says otherwise than the count, by more than it may. */
function wrong({ counted, booked }: Outcome, mayDiffer: (seconds: number) => number): string[] {
  return [...new Set([...counted.keys(), ...booked.keys()])].flatMap((key) => {
    const [count, book] = [counted.get(key) ?? 0, booked.get(key) ?? 0];
    return Math.abs(book - count) <= mayDiffer(count)
      ? []
      : [`${key}: booked ${book.toFixed(2)} s of ${count.toFixed(2)} s`];
  });
}

const sum = (seconds: ReadonlyMap<string, number>) => [...seconds.values()].reduce((all, each) => all + each, 0);
const seeds = Array.from({ length: HISTORIES }, (_, index) => index + 1);

test(
  'while rollcall writes, the book is what a count of every moment says, but for what it hears late',
  async () => {
    let counted = 0;
    for (const seed of seeds) {
      const outcome = await play(seed, [50, 400, 3000, 20_000]);
      expect(
        wrong(outcome, () => LATE_SECONDS * outcome.steps),
        `seed ${seed}`,
      ).toEqual([]);
      counted += sum(outcome.counted);
    }
    expect(counted).toBeGreaterThan(HISTORIES);
  },
  120_000 + 1000 * HISTORIES,
);

test(
  'beside a labeler that never withdraws it has that one’s lies, to 5 %',
  async () => {
    let counted = 0;
    for (const seed of seeds) {
      const outcome = await play(seed, [20_000, 60_000, 130_000], labelForGood);
      expect(
        wrong(outcome, (seconds) => Math.max(7 * LATE_SECONDS, 0.05 * seconds)),
        `seed ${seed}`,
      ).toEqual([]);
      counted += outcome.counted.get(`said-ready ${readyLabel('ws-daemon', 'default')}`) ?? 0;
    }
    expect(counted).toBeGreaterThan(100 * HISTORIES);
  },
  120_000 + 1000 * HISTORIES,
);
