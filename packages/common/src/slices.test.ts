import { expect, test } from 'vitest';
import { Slices } from './slices.ts';

/** Holds the loop. */
function work(ms: number): void {
  const untilMs = performance.now() + ms;
  while (performance.now() < untilMs);
}

test('others get a turn once the loop was held for 6 ms, and then again', async () => {
  const slices = new Slices();
  const turns: number[] = [];
  for (let piece = 0; piece < 4; piece += 1) {
    setImmediate(() => turns.push(piece));
    work(7);
    await slices.pause();
    expect(turns).toContain(piece);
  }
});

test('a generator runs to its end, and others get a turn where it yields', async () => {
  let turns = 0;
  const timer = setInterval(() => {
    turns += 1;
  }, 0);
  const result = await new Slices().run(
    (function* () {
      for (let piece = 0; piece < 5; piece += 1) {
        work(7);
        yield;
      }
      return turns;
    })(),
  );
  clearInterval(timer);
  expect(result).toBeGreaterThan(1);
});
