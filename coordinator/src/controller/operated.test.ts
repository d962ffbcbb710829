import { describe, expect, test } from 'vitest';
import { stage } from './node-controller.test-fixtures.ts';

/** A node with an agent, heard, among nine others that are well. */
function heard() {
  const staged = stage();
  const { addNode, servicePod, agentPod, report, controller } = staged;
  const others = Array.from({ length: 9 }, (_, index) => `other-${index}`);
  for (const name of ['n', ...others]) {
    addNode(name);
    servicePod(name);
  }
  for (const name of others) agentPod({ uid: `agent-${name}`, node: name });
  const old = agentPod({ uid: 'old' });
  controller.beginTerm();
  const othersReport = () => {
    for (const node of others) report(`agent-${node}`, { node });
  };
  othersReport();
  report('old');
  return { ...staged, old, othersReport };
}

describe('an agent that goes on reporting', () => {
  test('counts again when the newer pod of an undone rollout is deleted', async () => {
    const { agentPod, report, pass, fate, othersReport } = heard();
    const successor = agentPod({ uid: 'new', ageSeconds: 0 });
    report('new');
    const bothReport = () => {
      othersReport();
      report('old');
    };
    await pass(20, () => {
      bothReport();
      report('new');
    });
    successor.gone();
    await pass(300, bothReport);
    expect(fate()).toBe('kept');
    report('old', { ready: false });
    expect(fate()).toBe('withdrawn');
  });

  test('counts again after one report with its stolen token', async () => {
    const { report, pass, fate, othersReport } = heard();
    report('thief', { pod: 'old' });
    let worst = 'kept';
    await pass(60, () => {
      othersReport();
      report('old');
      if (fate() !== 'kept') worst = fate();
    });
    expect(worst).toBe('kept');
    report('old', { ready: false });
    expect(fate()).toBe('withdrawn');
  });

  test('counts at once when the newer one says goodbye, with what it said meanwhile', () => {
    const { agentPod, report, fate } = heard();
    agentPod({ uid: 'new', ageSeconds: 0 });
    report('new');
    report('old', { ready: false });
    expect(fate()).toBe('kept');
    report('new', { leaving: true });
    expect(fate()).toBe('withdrawn');
  });

  test('does not count beside the newer pod, whichever is heard first', () => {
    const { agentPod, report, fate, controller } = heard();
    agentPod({ uid: 'new', ageSeconds: 0 });
    controller.beginTerm();
    report('new');
    report('old', { ready: false });
    expect(fate()).toBe('kept');
  });
});

describe('a goodbye', () => {
  test('is nothing to a replica that leads again', async () => {
    const { report, pass, fate, controller, othersReport } = heard();
    report('old', { leaving: true });
    await pass(5, othersReport);
    controller.beginTerm();
    expect(fate()).toBe('kept');
  });

  test('is what a pod says that leaves the watch', async () => {
    const { old, pass, fate, othersReport } = heard();
    old.gone();
    await pass(119, othersReport);
    expect(fate()).toBe('kept');
    await pass(2, othersReport);
    expect(fate()).toBe('withdrawn');
  });

  test('is not what the pod of a node says that was silent before', async () => {
    const { old, pass, fate, othersReport } = heard();
    await pass(31, othersReport);
    expect(fate()).toBe('withdrawn');
    old.gone();
    expect(fate()).toBe('withdrawn');
  });

  test('is read from the pods by a new leader: from one that is gone', async () => {
    const { old, pass, fate, controller, othersReport } = heard();
    old.gone();
    controller.beginTerm();
    await pass(119, othersReport);
    expect(fate()).toBe('kept');
    await pass(2, othersReport);
    expect(fate()).toBe('withdrawn');
  });

  test('is read from the pods by a new leader: from a successor that pulls its image', async () => {
    const { old, agentPod, pass, fate, controller, othersReport } = heard();
    old.gone();
    agentPod({ uid: 'new', ready: false, ageSeconds: 5 });
    controller.beginTerm();
    await pass(119, othersReport);
    expect(fate()).toBe('kept');
    await pass(2, othersReport);
    expect(fate()).toBe('withdrawn');
  });

  test('does not count where rollcall did not set the label', async () => {
    const { old, addNode, pass, fate, controller, othersReport } = heard();
    old.gone();
    addNode('n', { stranger: true });
    controller.beginTerm();
    await pass(29, othersReport);
    expect(fate()).toBe('kept');
    await pass(2, othersReport);
    expect(fate()).toBe('withdrawn');
  });

  test('is not read from a pod that has not been Ready for long, nor from one that is', async () => {
    for (const ready of [true, false]) {
      const { old, agentPod, pass, fate, controller, othersReport } = heard();
      old.gone();
      agentPod({ uid: 'new', ready, ageSeconds: 121 });
      controller.beginTerm();
      await pass(31, othersReport);
      expect(fate()).toBe('withdrawn');
    }
  });
});

describe('silence in a group of one', () => {
  test('costs a node that is alone in its pool its label after the window, like any other', async () => {
    const { addNode, pass, fate, othersReport, report } = heard();
    addNode('n', { pool: 'gold' });
    report('old');
    await pass(29, othersReport);
    expect(fate()).toBe('kept');
    await pass(2, othersReport);
    expect(fate()).toBe('withdrawn');
  });

  test('costs a single node its label after the window', async () => {
    const { addNode, servicePod, agentPod, report, pass, fate, controller } = stage();
    addNode('n', { pool: 'gold' });
    servicePod();
    agentPod({ uid: 'a' });
    controller.beginTerm();
    report('a');
    await pass(29);
    expect(fate()).toBe('kept');
    await pass(2);
    expect(fate()).toBe('withdrawn');
  });
});
