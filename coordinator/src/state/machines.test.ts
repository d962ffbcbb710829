import { expect, test } from 'vitest';
import { gpus } from '../model/inventory/inventory.test-fixtures.ts';
import { inventoryOf, Machines } from './machines.ts';
import { nodeRecord } from './node-record.test-fixtures.ts';

const NODE = { name: 'n', uid: 'u', createdAtMs: 0, labels: {} };

const NO_DEVICES: [] = [];
const machine = (cpu: number | string) => ({ devices: NO_DEVICES, facts: { cpu: String(cpu) } });
const cpu = ({ machine: shown }: ReturnType<typeof nodeRecord>) => shown?.machine.facts['cpu'];

test('a change now and then counts at once', () => {
  const machines = new Machines();
  const n = nodeRecord();
  for (let second = 0; second < 20; second += 1) {
    expect(machines.take(n, machine(second), second * 1000)).toBe(true);
    expect(cpu(n)).toBe(String(second));
  }
  expect(machines.tick(20_000)).toEqual([]);
});

test('so do the first few, as when an agent starts or a device comes up in steps', () => {
  const machines = new Machines();
  const n = nodeRecord();
  expect([0, 1, 2, 3, 4].map((step) => machines.take(n, machine(step), step))).not.toContain(false);
});

test('one that keeps changing is taken over once a second, as it is then', () => {
  const machines = new Machines();
  const n = nodeRecord();
  let changes = 0;
  for (let ms = 0; ms < 60_000; ms += 50) {
    if (ms % 1000 === 0) changes += machines.tick(ms).length;
    if (machines.take(n, machine(ms), ms)) changes += 1;
  }
  expect(changes).toBeLessThan(66);
  expect(machines.tick(60_000)).toEqual(['n']);
  expect(cpu(n)).toBe('59950');
  expect(machines.tick(61_000)).toEqual([]);
});

test('what an agent could not read is kept, and is a change', () => {
  const machines = new Machines();
  const n = nodeRecord();
  const facts = { cpu: 'x' };
  const report = { devices: NO_DEVICES, facts };
  const partly = { ...report, unread: ['pci' as const] };
  expect([report, partly, partly].map((each) => machines.take(n, each, 0))).toEqual([true, true, false]);
  expect(n.machine?.machine).toEqual(partly);
});

test('another answer, or another value of one, is a change', () => {
  const machines = new Machines();
  const n = nodeRecord();
  const facts = { cpu: 'x' };
  const answers = { 'nfd:local.feature.x': true };
  const answered = (value: string) => ({
    devices: NO_DEVICES,
    facts,
    answers,
    values: { 'nfd:local.feature.x': value },
  });
  const first = answered('1');
  expect([first, first, answered('2')].map((each) => machines.take(n, each, 0))).toEqual([true, false, true]);
  const nothing = { node: NODE, slices: undefined, nodeFeatures: undefined };
  expect(inventoryOf({ shown: n.machine, ...nothing }, 0)).toMatchObject({
    ...{ answers, values: { 'nfd:local.feature.x': '2' } },
    ...{ nfd: undefined, dra: undefined },
  });
});

test('what is again as it was needs nothing', () => {
  const machines = new Machines();
  const n = nodeRecord();
  const first = [0, 1, 2, 3, 4].map(machine);
  for (const each of first) machines.take(n, each, 0);
  expect(machines.take(n, machine('other'), 0)).toBe(false);
  expect(cpu(n)).toBe('4');
  expect(machines.take(n, first.at(-1) ?? machine(4), 10)).toBe(false);
  expect(machines.tick(1000)).toEqual([]);
  expect(cpu(n)).toBe('4');
});

test('what was taken over before its turn came is not told again', () => {
  const machines = new Machines();
  const n = nodeRecord();
  for (let step = 0; step < 6; step += 1) machines.take(n, machine(step), 0);
  expect(cpu(n)).toBe('4');
  expect(machines.take(n, machine('late'), 5000)).toBe(true);
  expect([machines.tick(5000), cpu(n)]).toEqual([[], 'late']);
});

test('other machines do not wait for it, and one whose node is gone is not told', () => {
  const machines = new Machines();
  const n = nodeRecord();
  for (let step = 0; step < 9; step += 1) machines.take(n, machine(step), 0);
  expect(machines.take(nodeRecord('m'), machine(0), 0)).toBe(true);
  n.ended = true;
  expect(machines.tick(1000)).toEqual([]);
});

test('a driver that comes and goes is held back, and the node is looked at again when that is over', () => {
  const machines = new Machines();
  const n = nodeRecord();
  const take = (driver: string, nowMs: number) => machines.take(n, { devices: gpus(driver), facts: {} }, nowMs);
  take('nvidia', 0);
  for (let time = 1; time <= 4; time += 1) {
    take('', time * 10_000);
    take('nvidia', time * 10_000 + 2000);
  }
  const shown = (nowMs: number) =>
    inventoryOf(
      {
        shown: n.machine,
        node: NODE,
        slices: undefined,
        nodeFeatures: undefined,
      },
      nowMs,
    );
  expect([...shown(43_000).heldDrivers]).toEqual(['nvidia-gpu']);
  expect(machines.tick(49_999)).toEqual([]);
  expect(machines.tick(50_000)).toEqual(['n']);
  expect([...shown(50_000).heldDrivers]).toEqual([]);
  expect(machines.tick(51_000)).toEqual([]);
});

test('of two drivers that are held back, the node is looked at when the first of them is released, and the second', () => {
  const machines = new Machines();
  const n = nodeRecord();
  const amd = (driver: string) => ({
    ...gpus(driver)[0],
    attributes: { class: '0380', vendor: '1002', device: '740f' },
  });
  const take = (nvidia: string, other: string, nowMs: number) =>
    machines.take(n, { devices: [...gpus(nvidia), amd(other)] as ReturnType<typeof gpus>, facts: {} }, nowMs);
  take('nvidia', 'amdgpu', 0);
  for (let time = 1; time <= 4; time += 1) {
    take('', 'amdgpu', time * 10_000);
    take('nvidia', 'amdgpu', time * 10_000 + 2000);
    take('nvidia', '', time * 10_000 + 4000);
    take('nvidia', 'amdgpu', time * 10_000 + 6000);
  }
  const held = (nowMs: number) => [
    ...inventoryOf(
      {
        shown: n.machine,
        node: NODE,
        slices: undefined,
        nodeFeatures: undefined,
      },
      nowMs,
    ).heldDrivers,
  ];
  expect(held(47_000)).toEqual(['nvidia-gpu', 'amd-instinct']);
  expect([machines.tick(49_999), machines.tick(50_000), held(50_000)]).toEqual([[], ['n'], ['amd-instinct']]);
  expect([machines.tick(53_999), machines.tick(54_000), held(54_000)]).toEqual([[], ['n'], []]);
});
