import { expect, test } from 'vitest';
import { Machines } from './machines.ts';

const NO_DEVICES: [] = [];
const machine = (cpu: number | string) => ({ devices: NO_DEVICES, facts: { cpu: String(cpu) } });
const cpu = (machines: Machines) => machines.of('n')?.facts['cpu'];

test('a change now and then counts at once', () => {
  const machines = new Machines();
  for (let second = 0; second < 20; second += 1) {
    expect(machines.take('n', machine(second), second * 1000)).toBe(true);
    expect(cpu(machines)).toBe(String(second));
  }
  expect(machines.tick(20_000)).toEqual([]);
});

test('so do the first few, as when an agent starts or a device comes up in steps', () => {
  const machines = new Machines();
  expect([0, 1, 2, 3, 4].map((step) => machines.take('n', machine(step), step))).not.toContain(false);
});

test('one that keeps changing is taken over once a second, as it is then', () => {
  const machines = new Machines();
  let changes = 0;
  for (let ms = 0; ms < 60_000; ms += 50) {
    if (ms % 1000 === 0) changes += machines.tick(ms).length;
    if (machines.take('n', machine(ms), ms)) changes += 1;
  }
  expect(changes).toBeLessThan(66);
  expect(machines.tick(60_000)).toEqual(['n']);
  expect(cpu(machines)).toBe('59950');
  expect(machines.tick(61_000)).toEqual([]);
});

test('what is again as it was needs nothing', () => {
  const machines = new Machines();
  const first = [0, 1, 2, 3, 4].map(machine);
  for (const each of first) machines.take('n', each, 0);
  expect(machines.take('n', machine('other'), 0)).toBe(false);
  expect(cpu(machines)).toBe('4');
  expect(machines.take('n', first.at(-1) ?? machine(4), 10)).toBe(false);
  expect(machines.tick(1000)).toEqual([]);
  expect(cpu(machines)).toBe('4');
});

test('other machines do not wait for it, and a new one under its name begins anew', () => {
  const machines = new Machines();
  for (let step = 0; step < 9; step += 1) machines.take('n', machine(step), 0);
  expect(machines.take('m', machine(0), 0)).toBe(true);
  machines.forget('n');
  expect(machines.tick(1000)).toEqual([]);
  expect(machines.of('n')).toBeUndefined();
  expect(machines.take('n', machine('new'), 0)).toBe(true);
});
