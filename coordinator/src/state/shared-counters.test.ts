import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Amounts, mostAtOnce } from './shared-counters.ts';

const amounts = (entries: Record<string, number>): Amounts => new Map(Object.entries(entries));

/** By every subset of the devices. */
function mostBySubsets(devices: readonly Amounts[], capacities: Amounts): number {
  let most = 0;
  for (let subset = 0; subset < 2 ** devices.length; subset += 1) {
    const left = new Map(capacities);
    const taken = devices.filter((_, index) => (subset >> index) % 2 === 1);
    for (const device of taken) for (const [name, amount] of device) left.set(name, (left.get(name) ?? 0) - amount);
    if (left.values().every((amount) => amount >= 0)) most = Math.max(most, taken.length);
  }
  return most;
}

test('finds the most devices that fit at once', () => {
  const names = fc.constantFrom('a', 'b', 'c', 'd');
  const device = fc.dictionary(names, fc.integer({ min: 0, max: 3 }), { minKeys: 1 });
  const capacities = fc.record({ a: fc.nat(5), b: fc.nat(5), c: fc.nat(5) });
  fc.assert(
    fc.property(fc.array(device, { maxLength: 9 }), capacities, (devices, capacity) => {
      const [given, room] = [devices.map(amounts), amounts(capacity)];
      expect(mostAtOnce(given, room)).toEqual({ count: mostBySubsets(given, room), isExact: true });
    }),
  );
});

test('takes a pair beside what is between them: the smallest first is not always the best', () => {
  const devices = [amounts({ b: 1, c: 1 }), amounts({ a: 1, b: 1 }), amounts({ c: 1, d: 1 })];
  expect(mostAtOnce(devices, amounts({ a: 1, b: 1, c: 1, d: 1 })).count).toBe(2);
});

test('ends in milliseconds whatever a driver lists, and says that there may be more', () => {
  // Each takes three of thirty counters: no bound is near, and the subsets are too many.
  const devices = Array.from({ length: 128 }, (_, n) =>
    amounts(Object.fromEntries([n * 7, n * 11 + 1, n * 13 + 5].map((counter) => [`c${counter % 30}`, 1]))),
  );
  const room = amounts(Object.fromEntries(Array.from({ length: 30 }, (_, n) => [`c${n}`, 1])));
  const startMs = performance.now();
  const { count, isExact } = mostAtOnce(devices, room);
  expect(performance.now() - startMs).toBeLessThan(500);
  expect(count).toBeGreaterThan(5);
  expect(isExact).toBe(false);
});
