import { expect, test } from 'vitest';
import { type DeviceMemory, heldDrivers, remember, shownTally } from './device-memory.ts';
import { gpus } from './inventory.test-fixtures.ts';
import { driverOf, NONE_SEEN } from './tally.ts';

function shownDriver(memory: DeviceMemory, nowMs: number): string | undefined {
  return driverOf(shownTally(memory, nowMs).get('nvidia-gpu') ?? NONE_SEEN);
}

test('those that are gone are remembered by where they were, until they are back', () => {
  const all = gpus('nvidia', 'nvidia', 'nvidia');
  const first = remember(undefined, all, 0);
  expect(first.gone.size).toBe(0);
  const fewer = remember(first, all.slice(0, 1), 1);
  expect(fewer.gone.get('nvidia-gpu')).toEqual(['pci 0000:18:00.0', 'pci 0000:28:00.0']);
  const back = remember(fewer, all.slice(0, 2), 2);
  expect(back.gone.get('nvidia-gpu')).toEqual(['pci 0000:28:00.0']);
  expect(remember(back, all, 3).gone.size).toBe(0);
  expect(remember(fewer, [], 4).gone.get('nvidia-gpu')).toHaveLength(3);
});

test('a driver that is unbound now and then is shown as it is', () => {
  let memory = remember(undefined, gpus('nvidia'), 0);
  for (let minute = 1; minute < 20; minute += 1) {
    memory = remember(memory, gpus(minute % 4 === 0 ? '' : 'nvidia'), minute * 60_000);
    expect(shownDriver(memory, minute * 60_000)).toBe(minute % 4 === 0 ? undefined : 'nvidia');
  }
});

test('one that comes and goes is held back after the fourth time, for longer each time, and never withdrawn late', () => {
  let memory = remember(undefined, gpus('nvidia'), 0);
  let nowMs = 0;
  const flap = () => {
    nowMs += 100;
    memory = remember(memory, gpus(''), nowMs);
    expect(shownDriver(memory, nowMs)).toBeUndefined();
    nowMs += 100;
    memory = remember(memory, gpus('nvidia'), nowMs);
  };
  for (let time = 0; time < 3; time += 1) {
    flap();
    expect(shownDriver(memory, nowMs)).toBe('nvidia');
  }
  flap();
  expect(shownDriver(memory, nowMs)).toBeUndefined();
  const [untilMs = 0] = heldDrivers(memory, nowMs).values();
  expect(untilMs - nowMs).toBeGreaterThan(9000);
  expect(shownDriver(memory, untilMs)).toBe('nvidia');
  flap();
  expect((heldDrivers(memory, nowMs).get('nvidia-gpu') ?? 0) - nowMs).toBeGreaterThan(19_000);
});

test('a device that goes is no driver that goes', () => {
  let memory = remember(undefined, gpus('nvidia', 'nvidia'), 0);
  for (let time = 1; time < 10; time += 1) memory = remember(memory, time % 2 === 0 ? gpus('nvidia') : [], time);
  expect(heldDrivers(memory, 10).size).toBe(0);
});

test('one of many that comes and goes is held back, and what comes back is no fall', () => {
  let memory = remember(undefined, gpus('nvidia', ''), 0);
  for (let time = 1; time <= 3; time += 1) {
    memory = remember(memory, gpus('nvidia', 'nvidia'), time * 2);
    memory = remember(memory, gpus('nvidia', ''), time * 2 + 1);
  }
  expect(heldDrivers(memory, 10).size).toBe(0);
  memory = remember(remember(memory, gpus('nvidia', 'nvidia'), 10), gpus('nvidia', 'vfio-pci'), 11);
  expect(heldDrivers(memory, 12).size).toBe(1);
});

test('of those that are gone sixteen are remembered, the first by their places', () => {
  const drivers = Array<string>(20).fill('nvidia');
  const gone = remember(remember(undefined, gpus(...drivers), 0), [], 1).gone.get('nvidia-gpu') ?? [];
  expect(gone).toHaveLength(16);
  expect(gone).toEqual([...gone].sort());
});

test('of those that are only counted, one that loses its driver falls, and one that goes does not', () => {
  const group = (count: number, driver?: string) =>
    gpus('').map(({ address: _address, ...gpu }) => ({ ...gpu, count, ...(driver ? { driver } : {}) }));
  const fallsAfter = (now: Parameters<typeof remember>[1]) =>
    remember(remember(undefined, group(4, 'nvidia'), 0), now, 1).damping.get('nvidia-gpu')?.fallsMs ?? [];
  expect(fallsAfter(group(4))).toEqual([1]);
  expect(fallsAfter([...group(3, 'nvidia'), ...group(1)])).toEqual([1]);
  expect(fallsAfter(group(3, 'nvidia'))).toEqual([]);
  expect(fallsAfter([...group(4, 'nvidia'), ...group(1)])).toEqual([]);
});
