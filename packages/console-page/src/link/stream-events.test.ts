import { expect, test } from 'vitest';
import { settled, standInForFetch } from './fetch.test-fixtures.ts';
import { type StreamEvent, streamEvents } from './stream-events.ts';

function reading(after?: string) {
  const asked = standInForFetch();
  const batches: StreamEvent[][] = [];
  let pieces = 0;
  const read = async () => {
    const onBytes = () => {
      pieces += 1;
    };
    for await (const events of streamEvents(after, new AbortController().signal, onBytes)) batches.push(events);
  };
  const done = read();
  done.catch(() => {});
  const [first] = asked;
  if (!first) throw new Error('Nothing was asked');
  return { first, batches, done, pieces: () => pieces };
}

test('the stream is asked for from after an event, anew each time', () => {
  expect(reading().first).toMatchObject({ path: 'v1/stream', cache: 'no-store' });
  expect(reading('a/1').first.path).toBe('v1/stream?after=a%2F1');
});

test('events come as they are complete, and each sign of life is told', async () => {
  const { first, batches, pieces, done } = reading();
  const stream = first.stream();
  stream.send(':\n\n');
  await settled();
  expect([pieces(), batches.flat()]).toEqual([1, []]);
  stream.send('event: node-gone\nid: 7\ndata: {"na');
  await settled();
  expect([pieces(), batches.flat()]).toEqual([2, []]);
  stream.send('me":"a"}\n\n');
  await settled();
  expect(pieces()).toBe(3);
  expect(batches.flat()).toEqual([{ name: 'node-gone', id: '7', data: { name: 'a' } }]);
  stream.end();
  await done;
  expect(pieces()).toBe(3);
});

test('events of other names are left out', async () => {
  const { first, batches, done } = reading();
  const stream = first.stream();
  const names = ['replica', 'node', 'other', 'node-gone', 'reset'];
  stream.send(names.map((name) => `event: ${name}\ndata: {}\n\n`).join(''));
  stream.end();
  await done;
  expect(batches.flat().map(({ name }) => name)).toEqual(['replica', 'node', 'node-gone', 'reset']);
});

test('an answer without a stream is an error', async () => {
  const refused = reading();
  refused.first.answer(new Response('no', { status: 503 }));
  await expect(refused.done).rejects.toThrow('The coordinator answered 503');
  const empty = reading();
  empty.first.answer(new Response(null));
  await expect(empty.done).rejects.toThrow('The coordinator answered 200');
});
