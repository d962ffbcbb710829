import { PassThrough, Writable } from 'node:stream';
import { FakeClock } from '@rollcall/common/testing/fake-clock.ts';
import { beforeEach, describe, expect, test } from 'vitest';
import { EventStream } from './event-stream.ts';

let clock: FakeClock;
let stream: EventStream;
beforeEach(() => {
  clock = new FakeClock();
  stream = new EventStream(clock, () => ({ name: 'hello', data: '{}' }));
});

type Received = { name: string; data: string; id: string | undefined };

function parse(text: string): Received[] {
  return text
    .split('\n\n')
    .filter((block) => block.includes('event:'))
    .map((block) => {
      const field = (name: string) => new RegExp(`^${name}: (.*)$`, 'm').exec(block)?.[1];
      return { name: field('event') ?? '', data: field('data') ?? '', id: field('id') };
    });
}

/** A reader that takes everything at once. */
function fastReader(after?: string) {
  const to = new PassThrough();
  let text = '';
  to.on('data', (chunk) => {
    text += chunk;
  });
  stream.open({ to, after });
  return { to, received: () => parse(text), text: () => text };
}

/** One that takes nothing until it is told to. */
function slowReader() {
  let text = '';
  let goOn = () => {};
  const to = new Writable({
    highWaterMark: 1,
    write(chunk, _encoding, done) {
      text += chunk;
      goOn = done;
    },
  });
  stream.open({ to, after: undefined });
  return {
    to,
    received: () => parse(text),
    take: () => {
      const done = goOn;
      goOn = () => {};
      done();
    },
  };
}

const tell = (from: number, to = from) => {
  for (let n = from; n <= to; n += 1) stream.add({ name: 'node', data: String(n) });
};
const numbers = (received: Received[]) =>
  received.filter(({ name }) => name === 'node').map(({ data }) => Number(data));
const upTo = (n: number) => Array.from({ length: n }, (_, index) => index + 1);

describe('a reader', () => {
  test('is greeted, and told what comes from then on', async () => {
    tell(1);
    const reader = fastReader();
    tell(2, 3);
    await expect.poll(() => numbers(reader.received())).toEqual([2, 3]);
    expect(reader.received()[0]).toEqual({ name: 'hello', data: '{}', id: undefined });
  });

  test('that comes back is told what it missed, and nothing twice', async () => {
    const first = fastReader();
    tell(1, 2);
    await expect.poll(() => numbers(first.received())).toEqual([1, 2]);
    first.to.destroy();
    tell(3, 200);
    const second = fastReader(first.received().at(-1)?.id);
    await expect.poll(() => numbers(second.received())).toEqual(upTo(200).slice(2));
    expect(second.received().map(({ name }) => name)).not.toContain('reset');
  });

  test.each(['', 'nonsense', 'abcdef012345.1', '../1', '9'.repeat(400)])(
    'that names an unknown event (%s) is told to begin anew, and goes on',
    async (after) => {
      tell(1, 3);
      const reader = fastReader(after);
      tell(4);
      await expect.poll(() => numbers(reader.received())).toEqual([4]);
      const reset = reader.received().find(({ name }) => name === 'reset');
      expect(JSON.parse(reset?.data ?? '')).toEqual({ eventId: reset?.id });
    },
  );

  test('of another term is told to begin anew', async () => {
    const first = fastReader();
    tell(1);
    await expect.poll(() => first.received().length).toBe(2);
    const id = first.received().at(-1)?.id;
    stream.restart();
    const later = fastReader(id);
    for (const reader of [first, later]) {
      await expect.poll(() => reader.received().map(({ name }) => name)).toContain('reset');
    }
  });

  test('that is too slow is told to begin anew, and costs no memory for what it does not take', async () => {
    const slow = slowReader();
    tell(1, 20_000);
    expect(slow.to.writableLength).toBeLessThan(1000);
    const drain = setInterval(() => slow.take(), 0);
    await expect.poll(() => slow.received().map(({ name }) => name)).toContain('reset');
    tell(20_001);
    await expect.poll(() => numbers(slow.received()).at(-1)).toBe(20_001);
    clearInterval(drain);
    expect(numbers(slow.received()).length).toBeLessThan(10);
  });

  test('that has gone is forgotten', async () => {
    const reader = fastReader();
    expect(stream.readers).toBe(1);
    reader.to.destroy();
    await expect.poll(() => stream.readers).toBe(0);
    expect(clock.pendingTimers).toBe(0);
  });

  test('hears a sign of life while nothing changes', async () => {
    const reader = fastReader();
    await clock.advance(15_000);
    await clock.advance(15_000);
    await expect.poll(() => reader.text().match(/^:$/gm)?.length).toBe(2);
  });
});
