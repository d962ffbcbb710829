import { FakeClock } from '@rollcall/common/testing/fake-clock.ts';
import { expect, test } from 'vitest';
import { ChangedNodes } from './changed-nodes.ts';

/** Nodes whose handling takes so long each. */
function looking(tookMs: number) {
  const clock = new FakeClock();
  const looked: string[] = [];
  const looks = new ChangedNodes(clock, (node) => {
    clock.standStill(tookMs);
    looked.push(node);
  });
  return { looks, turn: () => clock.advance(0), told: () => looked.splice(0) };
}

test('a node is handed on in the next turn of the loop, once however often it was added', async () => {
  const { looks, turn, told } = looking(0);
  for (const node of ['a', 'b', 'a']) looks.add(node);
  expect(told()).toEqual([]);
  await turn();
  expect(told()).toEqual(['a', 'b']);
  await turn();
  expect(told()).toEqual([]);
});

test('a node that is added later is handed on again', async () => {
  const { looks, turn, told } = looking(0);
  looks.add('a');
  await turn();
  looks.add('a');
  await turn();
  expect(told()).toEqual(['a', 'a']);
});

test('the loop is held for 5 ms at a time', async () => {
  const { looks, turn, told } = looking(2.5);
  for (const node of ['a', 'b', 'c', 'd', 'e']) looks.add(node);
  const turns: string[][] = [];
  for (let count = 0; count < 4; count += 1) {
    await turn();
    turns.push(told());
  }
  expect(turns).toEqual([['a', 'b'], ['c', 'd'], ['e'], []]);
});

test('what is added while there is more to hand on does not hold the loop twice in a turn', async () => {
  const { looks, turn, told } = looking(5);
  for (const node of ['a', 'b', 'c']) looks.add(node);
  await turn();
  looks.add('d');
  await turn();
  expect(told()).toEqual(['a', 'b']);
  await turn();
  await turn();
  expect(told()).toEqual(['c', 'd']);
});
