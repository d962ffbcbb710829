import { FakeClock } from '@rollcall/common/testing/fake-clock.ts';
import { beforeEach, expect, test } from 'vitest';
import { RefusalMemory } from './refusal-memory.ts';
import { workspacePod } from './scheduler.test-fixtures.ts';

const SILENT = { announced: false };
const ANNOUNCED = { announced: true };
const pod = workspacePod();

let clock: FakeClock;
let memory: RefusalMemory;

beforeEach(() => {
  clock = new FakeClock();
  memory = new RefusalMemory(clock);
});

test('a reason that nothing announces is told as soon as it has passed, once', () => {
  memory.refused(pod, [['n', SILENT]]);
  expect(memory.awaited('n')).toEqual(['regular']);
  expect(memory.passed('n')).toBe(true);
  expect(memory.passed('n')).toBe(false);
});

test('a reason that announces itself is told only when the pod is not back a second later', async () => {
  memory.refused(pod, [['n', ANNOUNCED]]);
  expect(memory.passed('n')).toBe(false);
  await clock.advance(999);
  expect(memory.passed('n')).toBe(false);
  await clock.advance(1);
  expect(memory.passed('n')).toBe(true);
});

test('that second begins anew when the node refuses again', async () => {
  memory.refused(pod, [['n', ANNOUNCED]]);
  memory.passed('n');
  await clock.advance(900);
  memory.refusedStill('n');
  expect(memory.passed('n')).toBe(false);
  await clock.advance(900);
  expect(memory.passed('n')).toBe(false);
  await clock.advance(100);
  expect(memory.passed('n')).toBe(true);
});

test('a node is touched at most once a second, and what came too early is not forgotten', async () => {
  memory.refused(pod, [['n', SILENT]]);
  expect(memory.passed('n')).toBe(true);
  memory.refused(pod, [['n', SILENT]]);
  expect(memory.passed('n')).toBe(false);
  await clock.advance(1000);
  expect(memory.passed('n')).toBe(true);
});

test('no hint is due for a pod that waits no longer', () => {
  memory.refused(pod, [['n', SILENT]]);
  memory.settled(pod.id);
  expect(memory.nodes()).toEqual([]);
  expect(memory.passed('n')).toBe(false);
});

test('another pod of the same kind is reason enough, one of another kind is not', () => {
  memory.refused(pod, [['n', SILENT]]);
  memory.refused(workspacePod({ id: 'other' }), [['m', SILENT]]);
  memory.settled(pod.id);
  expect(memory.passed('n')).toBe(true);
  memory.refused(workspacePod({ id: 'prebuild', workspace: 'headless' }), [['x', SILENT]]);
  memory.refused(pod, [['y', SILENT]]);
  memory.settled(pod.id);
  memory.settled('other');
  expect(memory.passed('y')).toBe(false);
  expect(memory.passed('x')).toBe(true);
});

test('a refusal is forgotten after five minutes', async () => {
  memory.refused(pod, [['n', SILENT]]);
  await clock.advance(299_999);
  expect(memory.nodes()).toEqual(['n']);
  await clock.advance(1);
  expect(memory.nodes()).toEqual([]);
  expect(memory.passed('n')).toBe(false);
});

test('a pod that is no workspace is never waited for', () => {
  memory.refused({ id: 'p', workspace: undefined }, [['n', SILENT]]);
  expect(memory.nodes()).toEqual([]);
});

test('no more than five thousand nodes and ten thousand pods are kept in mind', () => {
  const nodes = Array.from({ length: 5_100 }, (_, index) => [`n${index}`, SILENT] as const);
  memory.refused(pod, nodes);
  expect(memory.nodes()).toHaveLength(5_000);
  expect(memory.nodes()).not.toContain('n0');
  for (let index = 0; index < 10_100; index += 1) memory.refused(workspacePod({ id: `p${index}` }), [['n', SILENT]]);
  for (let index = 100; index < 10_100; index += 1) memory.settled(`p${index}`);
  expect(memory.nodes()).toEqual([]);
});

test('five minutes count from the refusal, however long the program has run, for each node by itself', async () => {
  await clock.advance(1_000_000);
  memory.refused(pod, [
    ['n', SILENT],
    ['m', SILENT],
  ]);
  await clock.advance(200_000);
  memory.refused(pod, [['m', SILENT]]);
  await clock.advance(99_999);
  expect([memory.awaited('n'), memory.awaited('m')]).toEqual([['regular'], ['regular']]);
  await clock.advance(1);
  expect([memory.awaited('n'), memory.awaited('m')]).toEqual([[], ['regular']]);
  await clock.advance(199_999);
  expect(memory.nodes()).toEqual(['n', 'm']);
  await clock.advance(1);
  expect(memory.nodes()).toEqual([]);
});

test('a node is touched once a second also when the program has run for long', async () => {
  await clock.advance(1_000_000);
  memory.refused(pod, [['n', SILENT]]);
  expect(memory.passed('n')).toBe(true);
  memory.refused(pod, [['n', SILENT]]);
  await clock.advance(999);
  expect(memory.passed('n')).toBe(false);
  await clock.advance(1);
  expect(memory.passed('n')).toBe(true);
});

test('a node that refuses again takes no place of another, and is forgotten after it', () => {
  memory.refused(
    pod,
    Array.from({ length: 5000 }, (_, index) => [`n${index}`, SILENT] as const),
  );
  memory.refused(pod, [['n2', SILENT]]);
  expect(memory.nodes()).toHaveLength(5000);
  memory.refused(pod, [
    ['x', SILENT],
    ['y', SILENT],
    ['z', SILENT],
  ]);
  const awaited = ['n1', 'n2', 'n3', 'n4'].filter((node) => memory.awaited(node).length > 0);
  expect(awaited).toEqual(['n2', 'n4']);
});

test('nothing is left of pods that wait no longer for those that come later', () => {
  memory.refused(pod, [['n', SILENT]]);
  memory.settled(pod.id);
  expect(memory.nodes()).toEqual([]);
  memory.refused(workspacePod({ id: 'later' }), [['m', SILENT]]);
  expect(memory.nodes()).toEqual(['m']);
});
