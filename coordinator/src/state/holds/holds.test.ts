import { expect, test } from 'vitest';
import { heldPod, nodeHold, toldHolds } from './holds.test-fixtures.ts';
import type { Holds } from './holds.ts';

test('a node is kept by the pods there that a NodeHold selects in its namespace', () => {
  const { holds } = toldHolds();
  const elsewhere = { namespace: 'other', selector: { matchLabels: { hold: 'jobs' } } };
  holds.all.handlers().onReplace([nodeHold('jobs'), nodeHold('idle'), nodeHold('other', { pods: elsewhere })]);
  holds.pods.handlers('other').onReplace([]);
  holds.pods
    .handlers('ci')
    .onReplace([heldPod('a', 'n1', 'jobs'), heldPod('b', 'n1', 'nothing'), heldPod('c', 'n2', 'jobs')]);
  expect(holds.on('n1')).toEqual({ pods: [{ hold: 'jobs', namespace: 'ci', name: 'a' }], unknown: undefined });
  expect(holds.on('n3')).toEqual({ pods: [], unknown: undefined });
});

test('a NodeHold keeps the nodes that its own pods are on', () => {
  const { holds } = toldHolds();
  const other = heldPod('d', 'n4', 'jobs', { namespace: 'other' });
  holds.pods.handlers('other').onReplace([other]);
  holds.pods
    .handlers('ci')
    .onReplace([heldPod('a', 'n1', 'jobs'), heldPod('b', 'n2', 'idle'), heldPod('c', 'n1', 'jobs')]);
  expect([...holds.nodesHeldBy(nodeHold('jobs'))]).toEqual(['n1']);
});

test('while a NodeHold is not understood, it asks for no pods, and which nodes it keeps is unknown', async () => {
  const { holds, clock } = toldHolds();
  const problem = 'spec.until is not known to this version of rollcall';
  const strange = nodeHold('strange', { pods: undefined, problem });
  holds.all.handlers().onReplace([strange, nodeHold('jobs')]);
  holds.pods.handlers('ci').onReplace([heldPod('a', 'n1', 'jobs')]);
  expect(holds.wanted()).toEqual([nodeHold('jobs').pods]);
  const unknown = `the NodeHold strange is not understood: ${problem}`;
  expect(holds.on('n1')).toEqual({ pods: [{ hold: 'jobs', namespace: 'ci', name: 'a' }], unknown });
  expect(holds.on('n2')).toEqual({ pods: [], unknown });
  expect([...holds.nodesHeldBy(strange)]).toEqual([]);
  holds.all.handlers().onUpsert(nodeHold('strange', { generation: 2 }));
  await clock.advance(100);
  expect(holds.on('n2').unknown).toBeUndefined();
});

test.each([
  ['changed', (holds: Holds) => holds.all.handlers().onUpsert(nodeHold('jobs', { generation: 2 }))],
  ['deleted', (holds: Holds) => holds.all.handlers().onDelete(nodeHold('jobs'))],
])('until the pods of a NodeHold that was %s are asked for, nothing is known of any node', async (_what, change) => {
  const { holds, clock } = toldHolds();
  holds.all.handlers().onReplace([nodeHold('jobs')]);
  holds.pods.handlers('ci').onReplace([]);
  expect(holds.on('n1').unknown).toBeUndefined();
  change(holds);
  expect(holds.on('n1').unknown).toBe('the NodeHolds have just changed');
  await clock.advance(100);
  expect(holds.on('n1').unknown).toBeUndefined();
  change(holds);
  holds.all.handlers().onReplace([nodeHold('jobs')]);
  expect(holds.on('n1').unknown).toBeUndefined();
});

test('the pods of every NodeHold that is understood are wanted', () => {
  const { holds } = toldHolds();
  holds.all.handlers().onReplace([nodeHold('jobs'), nodeHold('strange', { pods: undefined }), nodeHold('idle')]);
  expect(holds.wanted()).toEqual([nodeHold('jobs').pods, nodeHold('idle').pods]);
});

test('until the NodeHolds and the pods of each are listed, people are told what is not known', () => {
  const { holds } = toldHolds();
  expect(holds.on('n1').unknown).toBe('the NodeHolds have not been listed yet');
  holds.all.handlers().onReplace([nodeHold('jobs')]);
  expect(holds.on('n1').unknown).toBe('the pods of the NodeHold jobs have not been listed yet');
  holds.pods.handlers('ci').onReplace([]);
  expect(holds.on('n1').unknown).toBeUndefined();
});

test('nothing is known of nodes while the watch of NodeHolds, or of their pods, fails', () => {
  const { holds } = toldHolds();
  const pods = holds.pods.handlers('ci');
  holds.all.handlers().onReplace([nodeHold('jobs')]);
  pods.onReplace([]);
  holds.all.handlers().onLost?.();
  expect(holds.on('n1').unknown).toBe('the NodeHolds have not been listed yet');
  holds.all.handlers().onReplace([nodeHold('jobs')]);
  pods.onLost?.();
  expect(holds.on('n1').unknown).toBe('the pods of the NodeHold jobs have not been listed yet');
});

test('a pod that comes, moves or goes is told with its nodes', () => {
  const { holds, told } = toldHolds();
  const pods = holds.pods.handlers('ci');
  pods.onUpsert(heldPod('a', 'n1', 'jobs'));
  expect(told()).toEqual(['n1']);
  pods.onUpsert(heldPod('a', 'n2', 'jobs'));
  expect(told()).toEqual(['n1', 'n2']);
  pods.onDelete(heldPod('a', 'n2', 'jobs'));
  expect(told()).toEqual(['n2']);
});

test('that the pods of a namespace are known is told once, at once, and again after they were lost', () => {
  const { holds, told } = toldHolds();
  const pods = holds.pods.handlers('ci');
  pods.onReplace([]);
  expect(told()).toEqual(['known']);
  pods.onReplace([]);
  expect(told()).toEqual([]);
  pods.onLost?.();
  pods.onReplace([]);
  expect(told()).toEqual(['known']);
});

test('a list of NodeHolds takes the place of those before, and is told at once', () => {
  const { holds, told } = toldHolds();
  holds.all.handlers().onReplace([nodeHold('jobs'), nodeHold('idle')]);
  expect(told()).toEqual(['change']);
  holds.all.handlers().onReplace([nodeHold('jobs')]);
  expect(told()).toEqual(['change']);
  expect(holds.objects()).toEqual([nodeHold('jobs')]);
});

test('a list of the same NodeHolds is not told, and one that reads differently since its CRD was changed is', () => {
  const { holds, told } = toldHolds();
  holds.all.handlers().onReplace([nodeHold('jobs')]);
  told();
  holds.all.handlers().onReplace([nodeHold('jobs', { status: 'new' })]);
  expect(told()).toEqual([]);
  holds.all.handlers().onReplace([nodeHold('jobs', { pods: undefined, problem: 'p' })]);
  expect(told()).toEqual(['change']);
});

test.each([
  ['new', nodeHold('idle')],
  ['another of the same name', nodeHold('jobs', { uid: 'other' })],
  ['changed', nodeHold('jobs', { generation: 2 })],
])('a NodeHold that is %s is told soon', async (_what, hold) => {
  const { holds, told, clock } = toldHolds();
  holds.all.handlers().onReplace([nodeHold('jobs')]);
  told();
  holds.all.handlers().onUpsert(hold);
  expect(holds.objects()).toContain(hold);
  expect(told()).toEqual([]);
  await clock.advance(100);
  expect(told()).toEqual(['change']);
});

test('a NodeHold with a new status alone is kept, and not told', async () => {
  const { holds, told, clock } = toldHolds();
  holds.all.handlers().onReplace([nodeHold('jobs')]);
  told();
  holds.all.handlers().onUpsert(nodeHold('jobs', { status: 'new' }));
  await clock.advance(1000);
  expect(told()).toEqual([]);
  expect(holds.objects()).toEqual([nodeHold('jobs', { status: 'new' })]);
});

test('a NodeHold that goes is told soon, once with others, and one that was not there is not', async () => {
  const { holds, told, clock } = toldHolds();
  holds.all.handlers().onReplace([nodeHold('jobs'), nodeHold('idle')]);
  told();
  holds.all.handlers().onDelete(nodeHold('unknown'));
  await clock.advance(1000);
  expect(told()).toEqual([]);
  holds.all.handlers().onDelete(nodeHold('jobs'));
  holds.all.handlers().onDelete(nodeHold('idle'));
  await clock.advance(1000);
  expect(told()).toEqual(['change']);
  expect(holds.objects()).toEqual([]);
});

test('a status that was written is kept with its NodeHold, and with none that is gone', () => {
  const { holds } = toldHolds();
  holds.all.handlers().onReplace([nodeHold('jobs'), nodeHold('idle')]);
  for (const name of ['jobs', 'gone']) holds.all.noteStatus({ uid: `uid-${name}`, name }, 'written');
  expect(holds.objects()).toEqual([nodeHold('jobs', { status: 'written' }), nodeHold('idle')]);
});
