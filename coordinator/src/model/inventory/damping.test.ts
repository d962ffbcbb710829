import { expect, test } from 'vitest';
import { afterFall, type Damping, UNDAMPED } from './damping.ts';

/** After falls at these times. */
function fallen(...timesMs: number[]): Damping {
  return timesMs.reduce(afterFall, UNDAMPED);
}

test('three falls are held back by nothing', () => {
  expect(fallen(0, 1, 2)).toEqual({ fallsMs: [0, 1, 2], heldUntilMs: Number.NEGATIVE_INFINITY });
});

test('each further fall is held back for twice as long, at most five minutes', () => {
  const holdsMs = Array.from({ length: 8 }, (_, index) => fallen(...Array<number>(4 + index).fill(0)).heldUntilMs);
  expect(holdsMs).toEqual([10_000, 20_000, 40_000, 80_000, 160_000, 300_000, 300_000, 300_000]);
});

test('a hold is counted from the fall, and never becomes shorter', () => {
  expect(fallen(0, 0, 0, 5000).heldUntilMs).toBe(15_000);
  expect(afterFall({ fallsMs: [0, 0, 0], heldUntilMs: 200_000 }, 5000).heldUntilMs).toBe(200_000);
});

test('falls are forgotten after five minutes', () => {
  expect(fallen(0, 0, 0, 299_999).heldUntilMs).toBe(309_999);
  expect(fallen(0, 0, 0, 300_000)).toEqual({ fallsMs: [300_000], heldUntilMs: Number.NEGATIVE_INFINITY });
});

test('the latest 300 falls are remembered', () => {
  const { fallsMs } = fallen(...Array.from({ length: 301 }, (_, index) => index));
  expect([fallsMs.length, fallsMs[0], fallsMs.at(-1)]).toEqual([300, 1, 300]);
});
