import { describe, expect, test } from 'vitest';
import { podsCheck, serviceOf } from '../model/services.test-fixtures.ts';
import type { ConditionCheck, Service } from '../model/services.ts';
import { agentPod } from './fleet.test-fixtures.ts';
import { nodeRecord } from './node-record.test-fixtures.ts';
import type { ObservedPod } from './observed-pod.ts';
import { type ConditionSight, doubtsOfReporters } from './reporters.ts';

const WINDOW_MS = 30_000;
const LABEL = 'example.com/kernel';
const CHECK: ConditionCheck = {
  name: 'kernel',
  kind: 'condition',
  id: 'npd/kernel',
  settings: {
    type: 'KernelHealthy',
    status: 'True',
    missing: 'Unknown',
    reporter: { namespace: 'kube-system', selector: { matchLabels: { app: 'npd' } } },
  },
};

/** A fleet with a reporter on each node, of which some are not Ready. */
function stage(size: number, { check = CHECK, pools = {} as Record<string, string>, shown = [] as string[] } = {}) {
  const ownedBy = (node: string) => ({
    labels: new Set(shown.includes(node) ? [LABEL] : []),
    annotations: new Set<string>(),
  });
  const names = Array.from({ length: size }, (_, index) => `node-${index}`);
  const records = names.map((name) => {
    const pool = pools[name];
    return nodeRecord(name, name, pool === undefined ? {} : { presence: { pool } });
  });
  const dead = new Set<string>();
  const changed: string[] = [];
  const conditions = new Map<string, ConditionSight['conditions']>();
  let services: Service[] = [serviceOf('npd', { checks: [check], publish: { label: LABEL } })];
  const reporter = (node: string): ObservedPod =>
    agentPod(`npd-${node}`, node, {
      namespace: 'kube-system',
      labels: { app: 'npd' },
      ready: !dead.has(node),
      terminating: false,
    });
  const reporters = doubtsOfReporters(
    {
      windowMs: WINDOW_MS,
      guardPercent: 55,
      services: () => services,
      sight: (node) => ({
        labels: {},
        owned: ownedBy(node),
        uid: node,
        annotations: {},
        createdAtMs: 0,
        conditions: conditions.get(node) ?? [],
        pods: [reporter(node)],
      }),
      onChange: (node) => changed.push(node),
    },
    () => records,
  );
  const recordOf = (name: string) => records.find((record) => record.name === name) ?? nodeRecord();
  return {
    names,
    dead,
    conditions,
    reporters,
    setServices: (next: Service[]) => {
      services = next;
    },
    tick: (nowMs: number, wallMs = nowMs) => {
      changed.length = 0;
      reporters.tick({ monotonicMs: nowMs, wallMs });
      return [...changed];
    },
    see: (name: string, nowMs: number) => reporters.see(recordOf(name), { monotonicMs: nowMs, wallMs: nowMs }),
    doubt: (name: string, of = check) => reporters.of(of, recordOf(name)),
  };
}

test('a dead reporter is doubted from the tick that saw it, and its node is judged anew when the window ends', () => {
  const { dead, tick, doubt } = stage(10);
  tick(0);
  dead.add('node-3');
  expect(tick(1000)).toEqual(['node-3']);
  expect(doubt('node-3')).toMatchObject({ sinceMs: 1000, guard: undefined });
  expect(doubt('node-4')).toEqual({ sinceMs: undefined });
  expect(tick(30_999)).toEqual([]);
  expect(tick(31_000)).toEqual(['node-3']);
  dead.clear();
  expect(tick(32_000)).toEqual(['node-3']);
  expect(doubt('node-3').sinceMs).toBeUndefined();
});

test('the guard holds before the first of most nodes would lose anything, and is named', () => {
  const { names, dead, tick, doubt, reporters } = stage(10);
  tick(0);
  for (const name of names.slice(0, 6)) dead.add(name);
  tick(1000);
  tick(16_000);
  expect(reporters.held().map(({ of }) => of)).toEqual(['npd/kernel, fleet']);
  expect(tick(31_000)).toEqual([]);
  expect(doubt('node-0').guard).toBe('fleet');
  dead.clear();
  tick(32_000);
  expect(reporters.held().map(({ of }) => of)).toEqual([]);
});

test('a pool has a guard of its own', () => {
  const pools = Object.fromEntries(['node-0', 'node-1', 'node-2'].map((name) => [name, 'gpu']));
  const { dead, tick, doubt } = stage(20, { pools });
  tick(0);
  for (const name of ['node-0', 'node-1', 'node-2', 'node-9']) dead.add(name);
  tick(1000);
  tick(31_000);
  expect(doubt('node-0').guard).toBe('pool gpu');
  expect(doubt('node-9').guard).toBeUndefined();
});

test('nodes whose reporter was never Ready in this term do not hide one that dies', () => {
  const { names, dead, tick, doubt, reporters } = stage(10);
  for (const name of names.slice(0, 7)) dead.add(name);
  tick(0);
  dead.add('node-9');
  tick(1000);
  tick(31_000);
  expect(reporters.held().map(({ of }) => of)).toEqual([]);
  expect(doubt('node-9')).toMatchObject({ sinceMs: 1000, guard: undefined });
});

test('while no reporter was ever Ready, the fault may be ours, and nothing is held against the nodes', () => {
  const { names, dead, tick, reporters } = stage(10);
  for (const name of names) dead.add(name);
  tick(0);
  tick(30_000);
  expect(reporters.held().map(({ of }) => of)).toEqual(['npd/kernel, fleet']);
});

test('every node that is still without a reporter has a fresh window when the guard clears', () => {
  const { names, dead, tick, doubt } = stage(10);
  tick(0);
  for (const name of names.slice(0, 6)) dead.add(name);
  tick(1000);
  tick(60_000);
  for (const name of names.slice(0, 3)) dead.delete(name);
  expect(tick(61_000)).toEqual(names.slice(0, 6));
  expect(doubt('node-5')).toMatchObject({ sinceMs: 61_000, guard: undefined });
  expect(tick(91_000)).toEqual(['node-3', 'node-4', 'node-5']);
});

test('a reporter that was Ready between two ticks has no past', () => {
  const { dead, tick, doubt, see } = stage(10);
  tick(0);
  dead.add('node-3');
  tick(1000);
  dead.clear();
  see('node-3', 1500);
  dead.add('node-3');
  see('node-3', 1600);
  tick(2000);
  expect(doubt('node-3').sinceMs).toBe(1600);
});

test('after an outage of the API server every node has a fresh window', () => {
  const { dead, tick, doubt, reporters } = stage(10);
  tick(0);
  dead.add('node-3');
  tick(1000);
  reporters.renewAll(20_000);
  tick(20_000);
  expect(doubt('node-3').sinceMs).toBe(20_000);
});

describe('reporters that are dead on most nodes', () => {
  const dying = (shown: string[], check = CHECK) => {
    const staged = stage(4, { check, shown });
    for (const name of ['node-0', 'node-1', 'node-2']) staged.dead.add(name);
    return staged;
  };
  const GUARD = 'npd/kernel, fleet';

  test('are guarded by a new leader too, which sees on the Nodes that they vouched', () => {
    const { tick, doubt, reporters } = dying(['node-0', 'node-1', 'node-2', 'node-3']);
    for (const nowMs of [0, 15_000, 30_000, 90_000]) tick(nowMs);
    expect([reporters.held().map(({ of }) => of), doubt('node-0').guard]).toEqual([[GUARD], 'fleet']);
  });

  test('are not guarded where they never vouched for a node', () => {
    const { tick, doubt, reporters } = dying([]);
    for (const nowMs of [0, 15_000, 30_000]) tick(nowMs);
    expect([reporters.held().map(({ of }) => of), doubt('node-0').guard]).toEqual([[], undefined]);
  });

  test.each([
    ['is renamed', { name: 'other', id: 'npd/other' }, 1000],
    [
      'is edited',
      {
        settings: {
          ...CHECK.settings,
          reporter: { namespace: 'kube-system', selector: { matchLabels: { app: 'mistyped' } } },
        },
      },
      32_000,
    ],
  ] as const)('stay guarded when the check %s', (_how, change, sinceMs) => {
    const { tick, setServices, reporters, doubt } = dying(['node-0', 'node-1', 'node-2', 'node-3']);
    for (const nowMs of [1000, 16_000, 31_000]) tick(nowMs);
    const edited = { ...CHECK, ...change };
    setServices([serviceOf('npd', { checks: [edited], publish: { label: LABEL } })]);
    for (const nowMs of [32_000, 46_000, 47_000, 62_000, 120_000]) tick(nowMs);
    expect(reporters.held().map(({ of }) => of)).toEqual([`${edited.id}, fleet`]);
    expect(doubt('node-0', edited)).toMatchObject({ sinceMs, guard: 'fleet' });
  });

  test('stay guarded after an outage of the API server', () => {
    const { dead, tick, reporters } = stage(4);
    tick(0);
    for (const name of ['node-0', 'node-1', 'node-2']) dead.add(name);
    for (const nowMs of [1000, 16_000, 31_000]) tick(nowMs);
    reporters.renewAll(40_000);
    for (const nowMs of [41_000, 56_000, 71_000, 120_000]) tick(nowMs);
    expect(reporters.held().map(({ of }) => of)).toEqual([GUARD]);
  });
});

test('a node is judged anew when its condition has been so for long enough', () => {
  const { reporter: _reporter, ...alone } = CHECK.settings;
  const { conditions, tick } = stage(2, { check: { ...CHECK, settings: { ...alone, forMs: 60_000 } } });
  const since = new Date(1_000_000).toISOString();
  conditions.set('node-1', [
    { type: CHECK.settings.type, status: 'True', reason: '', message: '', lastTransitionTime: since, index: 0 },
  ]);
  tick(0, 1_000_000);
  expect(tick(1, 1_059_999)).toEqual([]);
  expect(tick(2, 1_060_000)).toEqual(['node-1']);
});

test('what is known of a check is forgotten with it', () => {
  const { names, dead, tick, doubt, reporters, setServices } = stage(10);
  for (const name of names) dead.add(name);
  tick(0);
  tick(30_000);
  setServices([]);
  tick(31_000);
  expect([reporters.held().map(({ of }) => of), doubt('node-0')]).toEqual([[], { sinceMs: undefined }]);
});

test('a node that the service does not select does not count', () => {
  const { dead, tick, doubt, setServices } = stage(2);
  setServices([serviceOf('npd', { checks: [CHECK], nodeSelector: { matchLabels: { npd: 'yes' } } })]);
  dead.add('node-0');
  expect(tick(0)).toEqual([]);
  expect(doubt('node-0').sinceMs).toBeUndefined();
});

test('a node on which a service is ready by another check of several was not vouched for by a reporter', () => {
  const names = ['node-0', 'node-1', 'node-2', 'node-3'];
  const { setServices, dead, tick, doubt } = stage(names.length, { shown: names });
  const pods = podsCheck({ namespace: 'kube-system', selector: { matchLabels: { app: 'x' } } });
  const checks = [{ name: 'either', kind: 'anyOf', checks: [CHECK, pods] }] as const;
  setServices([serviceOf('npd', { checks, publish: { label: LABEL } })]);
  // The reporter never ran on three of them.
  for (const name of names.slice(1)) dead.add(name);
  for (let ms = 0; ms <= 60_000; ms += 1000) tick(ms);
  expect(doubt('node-1').guard).toBeUndefined();
});
