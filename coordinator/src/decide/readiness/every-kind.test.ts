import { CHECK_KINDS, PROBE_KINDS } from '@rollcall/common/checks/check-kinds.ts';
import { describe, expect, test } from 'vitest';
import { observePod } from '../../state/observed-pod.ts';
import { onDemandObjects } from '../../state/on-demand-objects.ts';
import { KindWorld, WINDOW_MS } from './kinds.test-fixtures.ts';
import {
  collectionOf,
  ON_DEMAND_ACTORS,
  ON_DEMAND_KINDS,
  type OnDemandKind,
  onDemandObject,
} from './on-demand-actors.test-fixtures.ts';
import { PROBED_KINDS, probeOf } from './probes.test-fixtures.ts';

/**
 * A kind of check as the histories below play it. `is` makes the evidence of it good or bad on a node, for the Node that is
 * there now; `list` makes known that there is none. What vouches for the evidence can fall silent, be gone, and come back.
 */
type Kind = {
  check: object;
  list: (world: KindWorld) => void;
  is: (world: KindWorld, node: string, good: boolean) => void;
  /** It passes on a node of which nothing is there. */
  passesByNone?: boolean;
  /** What it is read from can no longer be read. */
  refuse?: (world: KindWorld) => void;
};

const APP = { app: 'svc' };
const PODS = { namespace: 'a', selector: { matchLabels: APP } };
const watches = new WeakMap<KindWorld, ReturnType<KindWorld['fleet']['servicePods']['handlers']>>();

function podsIn(world: KindWorld) {
  const watch = watches.get(world) ?? world.fleet.servicePods.handlers('a');
  watches.set(world, watch);
  return watch;
}

function setPod(world: KindWorld, node: string, ready: boolean): void {
  const { uid, createdAtMs } = world.node(node);
  const time = new Date(createdAtMs).toISOString();
  const conditions = [{ type: 'Ready', status: ready ? 'True' : 'False', lastTransitionTime: time }];
  const metadata = { name: `pod-${uid}`, namespace: 'a', uid: `pod-${uid}`, resourceVersion: '1', labels: APP };
  podsIn(world).onUpsert(
    observePod({
      metadata: { ...metadata, creationTimestamp: time },
      spec: { nodeName: node },
      status: { conditions },
    }),
  );
}

const whole = (world: KindWorld) => {
  for (const name of world.names) world.write(name, { isWhole: true });
};
const metadataAlone = (world: KindWorld) => {
  for (const name of world.names) world.write(name, { isWhole: false });
};

/** What the agent of the node sees: one that is there already sees it now. */
function byAgent(check: object): Kind {
  return {
    check,
    list: () => {},
    is: (world, node, good) => {
      const sees = { ready: good, devices: good ? 1 : 0 };
      const agent = world.agents.get(node);
      if (agent?.nodeUid !== world.node(node).uid) return world.startAgent(node, sees);
      world.see(node, sees);
    },
  };
}

/** What objects say that are watched while a check asks for them. */
function onDemand(kind: OnDemandKind): Kind {
  const collection = ({ fleet }: KindWorld) => onDemandObjects(fleet.onDemand, collectionOf(kind));
  return {
    check: { [kind]: ON_DEMAND_ACTORS[kind].settings },
    passesByNone: ON_DEMAND_ACTORS[kind].passesByNone,
    list: (world) => collection(world).handlers().onReplace([]),
    is: (world, name, good) =>
      collection(world)
        .handlers()
        .onUpsert(onDemandObject(kind, { ...world.node(name), name }, good).object),
    refuse: (world) => collection(world).forget(),
  };
}

const KINDS: Record<string, Kind> = {
  pods: { check: { pods: PODS }, list: (world) => podsIn(world).onReplace([]), is: setPod },
  resource: {
    check: { resource: { name: 'example.com/gpu' } },
    list: whole,
    is: (world, node, good) =>
      world.write(node, { isWhole: true, allocatable: { 'example.com/gpu': good ? '1' : '0' } }),
    refuse: metadataAlone,
  },
  ...(Object.fromEntries(ON_DEMAND_KINDS.map((kind) => [kind, onDemand(kind)])) as Record<OnDemandKind, Kind>),
  condition: {
    check: { condition: { type: 'KernelHealthy', for: '5s', missing: 'Fail', reporter: PODS } },
    list: (world) => {
      podsIn(world).onReplace([]);
      for (const name of world.names) setPod(world, name, true);
      whole(world);
    },
    is: (world, node, good) => {
      setPod(world, node, true);
      const lastTransitionTime = new Date(world.clock.now() - 60_000).toISOString();
      const conditions = [{ type: 'KernelHealthy', status: good ? 'True' : 'False', lastTransitionTime }];
      world.write(node, { isWhole: true, conditions });
    },
    refuse: metadataAlone,
  },
  device: byAgent({ device: { name: 'edgetpu' } }),
  ...Object.fromEntries(PROBED_KINDS.map((kind) => [kind, byAgent({ [kind]: probeOf(kind, 80) })])),
};

test('every kind of check that a NodeService can have is played', () => {
  expect(Object.keys(KINDS).sort()).toEqual(Object.keys(CHECK_KINDS).sort());
});

describe.each(Object.entries(KINDS))('a check of the kind %s', (kindName, kind) => {
  const { check, list, is, refuse, passesByNone = false } = kind;
  const voucher = CHECK_KINDS[kindName]?.voucher;
  const isShared = PROBE_KINDS[kindName]?.isOfCluster === true;
  const written = [{ name: 'check', ...check }];
  const made = (size?: number) => new KindWorld(written, size);
  /** A fleet in which all is well, and was for a while. */
  const well = (size?: number) => {
    const world = made(size);
    list(world);
    for (const name of world.names) is(world, name, true);
    world.pass(10);
    expect(world.states()).toEqual(['ready']);
    return world;
  };
  const silence = (world: KindWorld, name: string) =>
    voucher === 'agent' ? world.stopAgent(name) : setPod(world, name, false);

  test('is unknown while nothing is known', () => {
    const world = made();
    expect(world.states()).toEqual(['unknown']);
    if (voucher === 'agent') return;
    world.pass(60);
    expect(world.states()).toEqual(['unknown']);
  });

  test.runIf(voucher !== 'agent')('fails once it is known that nothing is there, unless it passes by none', () => {
    const world = made();
    list(world);
    world.pass(10);
    expect(world.states()).toEqual([passesByNone ? 'ready' : 'not-ready']);
  });

  test('passes while it is there, however long, and fails once it is gone, for what was seen', () => {
    const world = well();
    world.pass(300);
    expect(world.states()).toEqual(['ready']);
    is(world, 'n0', false);
    world.pass(isShared ? 20 : 0);
    expect(world.of('n0')).toMatchObject({ state: 'not-ready', cause: voucher === 'agent' ? 'agent' : 'evidence' });
    expect(world.of('n1').state).toBe('ready');
    is(world, 'n0', true);
    expect(world.of('n0').state).toBe('ready');
  });

  test('neither passes nor fails by what is of an earlier Node of the name', () => {
    const world = well();
    // What there is decides otherwise than if there were none.
    const state = passesByNone ? 'not-ready' : 'ready';
    is(world, 'n0', !passesByNone);
    world.recreate('n0');
    for (let second = 0; second < 40; second += 1) {
      expect([second, world.of('n0').state]).not.toEqual([second, state]);
      world.pass(1);
    }
    is(world, 'n0', !passesByNone);
    world.pass(1);
    expect(world.of('n0').state).toBe(state);
  });

  test.runIf(voucher !== 'none')(
    'counts while its voucher lives: unknown or ready for the window, then not ready by silence, and ready again',
    () => {
      const world = well();
      silence(world, 'n0');
      for (let ms = 0; ms < WINDOW_MS - 2000; ms += 1000) {
        expect([ms, world.of('n0').state]).not.toEqual([ms, 'not-ready']);
        world.pass(1);
      }
      world.pass(5);
      const silent = { state: 'not-ready', cause: 'silence' };
      expect(world.of('n0')).toMatchObject(silent);
      world.removeAgentPod('n0');
      world.pass(300);
      expect(world.of('n0')).toMatchObject(silent);
      expect(world.of('n1').state).toBe('ready');
      world.agents.delete('n0');
      is(world, 'n0', true);
      world.pass(2);
      expect(world.of('n0')).not.toMatchObject({ cause: 'silence' });
      expect(world.of('n0').evidence?.state ?? world.of('n0').state).toBe('ready');
    },
  );

  test.runIf(CHECK_KINDS[kindName]?.schema.properties?.['grace'])(
    'counts as passed for its grace after it began to fail, and fails before it ever passed',
    () => {
      const settings = (check as Record<string, object>)[kindName];
      const world = new KindWorld([{ name: 'check', [kindName]: { ...settings, grace: '10s' } }]);
      list(world);
      is(world, 'n0', false);
      expect(world.of('n0').state).toBe('not-ready');
      for (const name of world.names) is(world, name, true);
      world.pass(60);
      is(world, 'n0', false);
      expect(world.of('n0')).toMatchObject({
        state: 'ready',
        reason: expect.stringMatching(/counts as passed until .*10 s/),
      });
      world.pass(5);
      is(world, 'n0', true);
      world.pass(8);
      is(world, 'n0', false);
      world.pass(9);
      expect(world.of('n0').state).toBe('ready');
      world.pass(2);
      expect(world.of('n0')).toMatchObject({ state: 'not-ready', cause: 'evidence' });
      expect(world.of('n1').state).toBe('ready');
    },
  );

  test('is kept by a new term, which never takes for bad what it has not heard', () => {
    const world = well();
    world.beginTerm();
    expect(world.states()).toEqual([voucher === 'agent' ? 'unknown' : 'ready']);
    for (let second = 0; second < 40; second += 1) {
      world.pass(1);
      expect([second, world.states()]).not.toEqual([second, expect.arrayContaining(['not-ready'])]);
    }
    expect(world.states()).toEqual(['ready']);
  });

  test.each([
    ['renamed', [{ name: 'other', ...check }]],
    ['put into anyOf', [{ name: 'any', anyOf: written }]],
    ['moved behind another', [{ name: 'first', ...check }, ...written]],
    ['moved before another', [...written, { name: 'last', ...check }]],
  ])('is not bad for a moment when it is %s', (_edit, checks) => {
    const world = well();
    world.edit(checks);
    expect(world.states()).not.toContain('not-ready');
    for (let second = 0; second < 40; second += 1) {
      world.pass(1);
      expect([second, world.states()]).not.toEqual([second, expect.arrayContaining(['not-ready'])]);
    }
    expect(world.states()).toEqual(['ready']);
  });

  test.runIf(refuse)('is unknown once it can no longer be read', () => {
    const world = well();
    refuse?.(world);
    expect(world.states()).toEqual(['unknown']);
    world.pass(120);
    expect(world.states()).toEqual(['unknown']);
  });

  test('that fails on all nodes at once fails, unless all of them share the fault', () => {
    const world = well(10);
    for (const name of world.names) is(world, name, false);
    world.pass(60);
    expect(world.states()).toEqual([isShared ? 'unknown' : 'not-ready']);
  });

  test.runIf(voucher !== 'none')('is unknown, and not bad, while all that vouch for it are silent', () => {
    const world = well(10);
    for (const name of world.names) silence(world, name);
    for (let second = 0; second < 120; second += 1) {
      world.pass(1);
      expect([kindName, second, world.states()]).not.toEqual([kindName, second, expect.arrayContaining(['not-ready'])]);
    }
    expect(world.states()).toEqual(['unknown']);
  });
});
