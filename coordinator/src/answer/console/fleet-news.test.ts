import { PassThrough } from 'node:stream';
import { nodeSummary, replicaDocument } from '@rollcall/common/console.test-fixtures.ts';
import type { NodeSummary } from '@rollcall/common/console.ts';
import { FakeClock } from '@rollcall/common/testing/fake-clock.ts';
import { describe, expect, test } from 'vitest';
import { FleetNews } from './fleet-news.ts';

function started() {
  const clock = new FakeClock();
  const nodes = new Map<string, NodeSummary>();
  let found = 0;
  const summary = (name: string) => {
    found += 1;
    return nodes.get(name);
  };
  const replica = { leading: true };
  const now = () => new Date(clock.now()).toISOString();
  const news = new FleetNews({ clock, summary, replica: () => replicaDocument({ ...replica, now: now() }) });
  const setPending = (pending: boolean) => nodes.set('n', nodeSummary({ name: 'n', pending }));
  setPending(false);
  /** A reader from now on, or after an event; `told` is what came since this was last called, as `name data`. */
  const read = (after?: string) => {
    const to = new PassThrough();
    let text = '';
    to.on('data', (chunk) => {
      text += chunk;
    });
    news.open({ to, after });
    const told = async () => {
      await clock.advance(0);
      const events = [...text.matchAll(/^event: (.*)\ndata: (.*)$/gm)].map(([, name, data]) => `${name} ${data}`);
      text = '';
      return events;
    };
    return { to, told };
  };
  return { clock, nodes, news, replica, setPending, read, found: () => found };
}

test.each([
  ['with readers', true],
  ['without', false],
])('%s, a node is found out once for all who ask, until it may be other than it was', (_name, isRead) => {
  const { nodes, news, setPending, found } = started();
  if (isRead) news.follow();
  for (let asked = 0; asked < 3; asked += 1) expect(news.summary('n')?.pending).toBe(false);
  expect(found()).toBe(1);
  setPending(true);
  news.look('n');
  for (let asked = 0; asked < 3; asked += 1) expect(news.summary('n')?.pending).toBe(true);
  expect(found()).toBe(2);
  nodes.delete('n');
  news.look('n');
  expect(news.summary('n')).toBeUndefined();
});

test('what time alone changes, and what was found in another term, is found out anew', async () => {
  const { clock, news, setPending } = started();
  const pending = () => news.summary('n')?.pending;
  expect(pending()).toBe(false);
  setPending(true);
  await clock.advance(9000);
  expect(pending()).toBe(false);
  await clock.advance(1000);
  expect(pending()).toBe(true);
  setPending(false);
  news.restart();
  expect(pending()).toBe(false);
});

describe('a reader', () => {
  const namesOf = (events: readonly string[]) => events.map((event) => event.split(' ')[0]);

  test('receives a node that has changed, once, and one that is gone', async () => {
    const { news, nodes, setPending, read } = started();
    const { told } = read();
    expect(namesOf(await told())).toEqual(['replica']);
    news.look('n');
    expect(await told()).toEqual([`node ${JSON.stringify(nodes.get('n'))}`]);
    news.look('n');
    expect(await told()).toEqual([]);
    setPending(true);
    news.look('n');
    expect(await told()).toEqual([`node ${JSON.stringify(nodes.get('n'))}`]);
    nodes.delete('n');
    news.look('n');
    expect(await told()).toEqual(['node-gone {"name":"n"}']);
    setPending(true);
    news.look('n');
    expect(namesOf(await told())).toEqual(['node']);
  });

  test('receives the replica when it has changed in more than its time', async () => {
    const { clock, news, replica, read } = started();
    const { told } = read();
    expect((await told())[0]).not.toContain('"now"');
    await clock.advance(1000);
    news.tick();
    expect(await told()).toEqual([]);
    replica.leading = false;
    news.tick();
    expect(namesOf(await told())).toEqual(['replica']);
    news.tick();
    expect(await told()).toEqual([]);
  });

  test('misses nothing since the document that it follows', async () => {
    const { news, setPending, read } = started();
    const eventId = news.follow();
    setPending(true);
    news.look('n');
    const { told } = read(eventId);
    expect(namesOf(await told())).toEqual(['replica', 'node']);
  });

  test('has to begin anew in another term, and receives every node again', async () => {
    const { news, read } = started();
    const { told } = read();
    news.look('n');
    await told();
    news.restart();
    expect(namesOf(await told())).toEqual(['reset']);
    news.look('n');
    expect(namesOf(await told())).toEqual(['node']);
  });
});

describe('without readers', () => {
  test('nothing is found out of a node that may be other than it was', () => {
    const { news, found } = started();
    news.look('n');
    news.tick();
    news.restart();
    expect(found()).toBe(0);
  });

  test('what happens is kept for five minutes, for one that comes back', async () => {
    const { clock, news, setPending, read, found } = started();
    const reader = read();
    await clock.advance(600_000);
    news.tick();
    news.look('n');
    const eventId = news.follow();
    reader.to.destroy();
    await clock.advance(0);
    expect(news.readers).toBe(0);
    await clock.advance(300_000);
    news.tick();
    setPending(true);
    news.look('n');
    const before = found();
    await clock.advance(1);
    news.tick();
    setPending(false);
    expect(news.summary('n')?.pending).toBe(false);
    expect(found()).toBe(before + 1);
    news.look('n');
    expect(found()).toBe(before + 1);
    const { told } = read(eventId);
    expect((await told()).map((event) => event.split(' ')[0])).toEqual(['replica', 'reset']);
  });

  test('one that comes back in time goes on from where it was', async () => {
    const { clock, news, setPending, read } = started();
    const eventId = news.follow();
    await clock.advance(300_000);
    news.tick();
    setPending(true);
    news.look('n');
    expect((await read(eventId).told()).map((event) => event.split(' ')[0])).toEqual(['replica', 'node']);
  });
});
