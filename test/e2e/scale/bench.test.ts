import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Writable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { benchBurst } from '../../scale/burst.ts';
import { benchCold } from '../../scale/cold.ts';
import { measuredBefore, readResult } from '../../scale/earlier.ts';
import { benchFailover } from '../../scale/failover.ts';
import { benchGate } from '../../scale/gate.ts';
import { benchGrowth } from '../../scale/growth.ts';
import { benchIngest } from '../../scale/ingest.ts';
import { benchJoin } from '../../scale/join.ts';
import { Lab } from '../../scale/lab.ts';
import { benchReplica } from '../../scale/replica.ts';
import { type Bench, type Measure, median, quantile } from '../../scale/result.ts';
import { benchSchedulers } from '../../scale/schedulers.ts';
import { benchServices } from '../../scale/services.ts';
import { benchSteady } from '../../scale/steady.ts';
import { tableOf } from '../../scale/table.ts';
import { benchWatched } from '../../scale/watched.ts';

const OPTIONS = { nodes: 10, rounds: 1, idleSeconds: 1 };

let lab: Lab;
beforeAll(async () => {
  lab = await Lab.open(new Writable({ write: (_chunk, _encoding, done) => done() }));
});
afterAll(() => lab?.stop());

/** Counts hold at every size and speed, unlike times. */
function miscounted(measures: readonly Measure[]): Measure[] {
  return measures.filter(({ value, exactly }) => exactly !== undefined && value !== exactly);
}

/** In this order each finds the fleet as the one before left it, as in a whole run. */
describe('with ten nodes the bench', () => {
  test.each<[string, Bench]>([
    ['join', benchJoin],
    ['cold', benchCold],
    ['burst', benchBurst],
    ['steady', benchSteady],
    ['watched', benchWatched],
    ['ingest', benchIngest],
    ['services', benchServices],
    ['replica', benchReplica],
    ['schedulers', benchSchedulers],
    ['failover', benchFailover],
  ])(
    '%s comes to its end, with a number for every measure and the right counts',
    async (_name, bench) => {
      const measures = await bench(lab, OPTIONS);
      expect(measures.filter(({ exactly }) => exactly !== undefined)).not.toEqual([]);
      expect(miscounted(measures)).toEqual([]);
      expect(measures.filter(({ value }) => !Number.isFinite(value))).toEqual([]);
      expect(lab.fleet.names).toHaveLength(OPTIONS.nodes);
    },
    180_000,
  );

  test('leaves out no node: labels go and come with what the agents say', async () => {
    await lab.fleet.report(['fleet-3'], { ready: false });
    await lab.settled(0, ['fleet-3']);
    await lab.settled(
      2,
      lab.fleet.names.filter((name) => name !== 'fleet-3'),
    );
    await lab.fleet.report(['fleet-3'], { ready: true });
    await lab.settled(2);
  });
});

test('gate comes to its end, with a number for every measure, one PATCH a node, and no gate that opened early', async () => {
  const measures = await benchGate(lab, OPTIONS);
  expect(miscounted(measures)).toEqual([]);
  expect(measures.filter(({ value }) => !Number.isFinite(value))).toEqual([]);
}, 180_000);

test('growth comes to its end, with a number for every kind of event, and writes nothing for what changes nothing', async () => {
  const measures = await benchGrowth(undefined, [60]);
  expect(miscounted(measures)).toEqual([]);
  expect(measures.filter(({ value }) => !Number.isFinite(value))).toEqual([]);
}, 120_000);

test('the table shows what an earlier run measured', () => {
  const measures = [
    { what: 'slow', value: 3, unit: 's', atMost: 1.5 } as const,
    { what: 'new', value: 1, unit: '' } as const,
  ];
  expect(tableOf('name', measures, { 'slow, s': 2 }).split('\n')[1]).toMatch(/OVER {2}before 2 \(now 1\.5 ×\)$/);
  expect(tableOf('name', measures, { 'slow, s': 2 })).not.toMatch(/new.*before/);
});

test('a result to compare with is read, and one that is none is named', async () => {
  const directory = await mkdtemp(path.join(tmpdir(), 'rollcall-bench-'));
  const file = path.join(directory, 'cold-10.json');
  try {
    await writeFile(file, JSON.stringify({ bench: 'cold', nodes: 10, measured: { 'slow, s': 2 } }));
    const earlier = [readResult(file)];
    expect(measuredBefore(earlier, 'cold', 'cold-10')).toEqual({ 'slow, s': 2 });
    expect(measuredBefore(earlier, 'cold', 'cold-20')).toBeUndefined();
    await writeFile(file, '[]');
    expect(() => readResult(file)).toThrow(/cold-10\.json has no bench/);
    await writeFile(file, '{');
    expect(() => readResult(file)).toThrow(/cold-10\.json is not a file of/);
  } finally {
    await rm(directory, { recursive: true });
  }
});

test('the table says of each measure with a budget whether it is met', () => {
  const table = tableOf('name', [
    { what: 'slow', value: 2.3456, unit: 's', atMost: 1.5 },
    { what: 'fast', value: 1, unit: 's', atMost: 1.5 },
    { what: 'count', value: 2, unit: '', exactly: 1 },
    { what: 'just so', value: 7, unit: '×' },
  ]);
  const lines = table.split('\n').map((line) => line.trim().replaceAll(/ {2,}/g, ' | '));
  expect(lines).toEqual([
    'name',
    'slow | 2.35 s | ≤ 1.5 s | OVER',
    'fast | 1 s | ≤ 1.5 s | ok',
    'count | 2 | = 1 | OVER',
    'just so | 7 ×',
  ]);
});

test('a quantile is one of the values, and of none it is no number', () => {
  expect(quantile([5, 1, 4, 2, 3], 0.99)).toBe(5);
  expect(median([5, 1, 4, 2, 3])).toBe(3);
  expect(quantile([], 0.5)).toBeNaN();
});
