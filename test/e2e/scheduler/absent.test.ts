import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { waitFor } from '../../control-plane/wait-for.ts';
import { ask } from './ask.ts';
import { SchedulerStage } from './scheduler-stage.ts';

describe('an extender that may be ignored', () => {
  let stage: SchedulerStage;
  beforeAll(async () => {
    stage = await SchedulerStage.start({ nodes: 1, ignorable: true });
  });
  afterAll(() => stage?.stop());

  test('is ignored while it is dead', async () => {
    await stage.rig.endCoordinator(await stage.rig.leader(), 'SIGKILL');
    await stage.workspace('without');
    expect(await stage.nodeOf('without')).toBe(stage.rig.node(0).name);
  });
});

describe('an extender that may not be ignored', () => {
  let stage: SchedulerStage;
  beforeAll(async () => {
    stage = await SchedulerStage.start({ nodes: 1, ignorable: false });
  });
  afterAll(() => stage?.stop());

  test('keeps pods waiting while it is dead, and they are scheduled when it is back', async () => {
    await stage.workspace('before');
    await stage.nodeOf('before');
    await stage.rig.endCoordinator(await stage.rig.leader(), 'SIGKILL');
    await stage.workspace('waiting');
    expect(await stage.untilRefused('waiting')).not.toBe('');
    await stage.rig.addCoordinator();
    await stage.rig.leader();
    expect(await stage.nodeOf('waiting', 120_000)).toBe(stage.rig.node(0).name);
  });
});

describe('two coordinators', () => {
  let stage: SchedulerStage;
  beforeAll(async () => {
    // Each takes a port of its own; the scheduler is not asked here, but this test is.
    stage = await SchedulerStage.start({
      nodes: 1,
      coordinators: 2,
      coordinatorArgs: ['--scheduler-listen=127.0.0.1:0'],
    });
  });
  afterAll(() => stage?.stop());

  const portOf = async (name: string) => {
    const coordinator = stage.rig.coordinators.find((each) => each.name === name);
    const started = await coordinator?.waitForLog('Started');
    return (started?.['scheduler'] as { port: number } | undefined)?.port ?? 0;
  };
  const question = async (port: number) => {
    const pod = { metadata: { name: 'x', namespace: 'default', labels: { component: 'workspace' } } };
    const fromMs = performance.now();
    const answer = await ask(port, 'filter', { Pod: pod, Nodes: null, NodeNames: [stage.rig.node(0).name] });
    return { ...answer, tookMs: performance.now() - fromMs };
  };

  test('a standby passes questions on to the leader, and refuses at once while there is none', async () => {
    const leader = await stage.rig.leader();
    const [standby] = stage.rig.coordinators.filter((each) => each !== leader);
    const port = await portOf(standby?.name ?? '');
    await waitFor('the standby to pass it on', async () => (await question(port)).status === 200);
    expect((await question(port)).body).toBe((await question(await portOf(leader.name))).body);
    await stage.rig.endCoordinator(leader, 'SIGKILL');
    const answers: { status: number; tookMs: number }[] = [];
    await waitFor(
      'the standby to lead and answer itself',
      async () => {
        const answer = await question(port);
        answers.push(answer);
        return answer.status === 200;
      },
      { timeoutMs: 60_000, everyMs: 100 },
    );
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([503, 200]));
    expect(Math.max(...answers.map(({ tookMs }) => tookMs))).toBeLessThan(3000);
  });
});
