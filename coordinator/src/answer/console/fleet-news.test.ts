import { nodeSummary, replicaDocument } from '@rollcall/common/console.test-fixtures.ts';
import type { NodeSummary } from '@rollcall/common/console.ts';
import { FakeClock } from '@rollcall/common/fake-clock.ts';
import { expect, test } from 'vitest';
import { FleetNews } from './fleet-news.ts';

function started() {
  const clock = new FakeClock();
  const nodes = new Map<string, NodeSummary>();
  let found = 0;
  const summary = (name: string) => {
    found += 1;
    return nodes.get(name);
  };
  const news = new FleetNews({ clock, summary, replica: () => replicaDocument() });
  const setPending = (pending: boolean) => nodes.set('n', nodeSummary({ name: 'n', pending }));
  setPending(false);
  return { clock, nodes, news, setPending, found: () => found };
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
