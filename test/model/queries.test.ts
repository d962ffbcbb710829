import { expect, test } from 'vitest';
import { historyOf, play } from './history.ts';

const HISTORIES = Math.max(60, Math.ceil(Number(process.env['ROLLCALL_HISTORIES'] ?? 1500) / 25));

async function writesOf(seed: number, asks: boolean): Promise<string[]> {
  const lines: string[] = [];
  await play(historyOf(seed), { trace: (line) => lines.push(line), asks });
  return lines;
}

test('no question about a node changes a later decision: every write is the same, at the same time', {
  timeout: 300_000 + HISTORIES * 1000,
}, async () => {
  let writes = 0;
  for (let seed = 1; seed <= HISTORIES; seed += 1) {
    const unasked = await writesOf(seed, false);
    expect(await writesOf(seed, true), `ROLLCALL_SEED=${seed}`).toEqual(unasked);
    writes += unasked.length;
  }
  expect(writes).toBeGreaterThan(20 * HISTORIES);
});
