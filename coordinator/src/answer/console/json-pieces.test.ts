import { Writable } from 'node:stream';
import { expect, test } from 'vitest';
import { writePieces } from './console-server.ts';

function collect() {
  let text = '';
  const to = new Writable({
    highWaterMark: 1024,
    write(chunk, _encoding, done) {
      text += chunk;
      setImmediate(done);
    },
  });
  return { to, text: () => text };
}

test.each([
  [{}, []],
  [{ a: 1, b: 'x"y' }, [1]],
  [{ a: {} }, [{ n: '\u2028', b: '<script>' }, 'é', null]],
])('writes what JSON says, an item a line', async (head, items) => {
  const { to, text } = collect();
  await writePieces({ head, list: 'items', items }, to);
  expect(JSON.parse(text())).toEqual({ ...head, items });
  expect(text().split('\n')).toHaveLength(items.length + 4);
});

test('leaves out what is undefined', async () => {
  const { to, text } = collect();
  await writePieces({ head: {}, list: 'items', items: [undefined, 1, undefined, 2, undefined] }, to);
  expect(JSON.parse(text())).toEqual({ items: [1, 2] });
});

test('makes no more items than the reader takes, and lets others have the loop', async () => {
  let made = 0;
  const items = (function* () {
    for (; made < 2000; made += 1) {
      const untilMs = performance.now() + 0.05;
      while (performance.now() < untilMs);
      yield { made, text: 'x'.repeat(1000) };
    }
  })();
  const { to, text } = collect();
  let turns = 0;
  const timer = setInterval(() => {
    turns += 1;
  }, 1);
  await writePieces({ head: {}, list: 'items', items }, to);
  clearInterval(timer);
  expect(JSON.parse(text()).items).toHaveLength(2000);
  expect(turns).toBeGreaterThan(3);
});

test('ends when the reader has gone', async () => {
  let made = 0;
  const items = (function* () {
    for (;;) {
      made += 1;
      yield 'x'.repeat(1000);
    }
  })();
  const { to } = collect();
  setTimeout(() => to.destroy(), 10);
  await writePieces({ head: {}, list: 'items', items }, to);
  expect(made).toBeGreaterThan(10);
});
