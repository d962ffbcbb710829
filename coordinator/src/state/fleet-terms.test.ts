import type { FullReport } from '@rollcall/common/report.ts';
import { FakeClock } from '@rollcall/common/testing/fake-clock.ts';
import { SERVICES_STARTED_ANNOTATION } from '@rollcall/common/well-known.ts';
import { describe, expect, test } from 'vitest';
import { podsCheck, probeCheck, serviceOf } from '../model/services.test-fixtures.ts';
import { agentPod, watchedFleet } from './fleet.test-fixtures.ts';
import type { ObservedPod } from './observed-pod.ts';

const WINDOW_MS = 30_000;

function started(names: readonly string[] = ['n']) {
  const clock = new FakeClock();
  const watched = watchedFleet(names, { clock, services: () => [serviceOf()], windowMs: WINDOW_MS });
  const { fleet } = watched;
  const stateOf = (name: string) => fleet.snapshot(name)?.freshness.state;
  /** Ticks every second, as the coordinator does. */
  const pass = async (ms: number) => {
    for (let left = ms; left > 0; left -= 1000) {
      await clock.advance(1000);
      fleet.tick();
    }
  };
  const report = (pod: string, cpu = 'x') => {
    const header = { node: 'n', boot: pod, sequence: 1, digest: cpu };
    const full: FullReport = { ...header, services: [], devices: [], facts: { cpu } };
    return fleet.accept(full, { node: 'n', nodeUid: 'uid-n', pod: { name: pod, uid: `uid-${pod}` } });
  };
  return { ...watched, clock, stateOf, pass, report };
}

describe('a term that begins', () => {
  test('ends what was heard in the one before, and looks at every node', () => {
    const { fleet, told, stateOf, report } = started(['n', 'm']);
    report('p');
    const before = fleet.record('n');
    expect([before?.name, before?.ended, stateOf('n')]).toEqual(['n', false, 'fresh']);
    told();
    fleet.beginTerm();
    expect([before?.ended, stateOf('n'), told()]).toEqual([true, 'unheard', ['n normal', 'm normal']]);
    expect(fleet.record('n')).not.toBe(before);
  });

  test('tells the Nodes that were there before from those that come in it', () => {
    const { fleet, node } = started(['n', 'm']);
    fleet.beginTerm();
    fleet.nodeHandlers.onUpsert(node('late'));
    fleet.nodeHandlers.onUpsert(node('m', {}, '2', 'uid-of-another'));
    expect(['n', 'm', 'late'].map((name) => fleet.record(name)?.isNew)).toEqual([false, true, true]);
  });

  test('late gives agents as much time to be heard as one that begins at once', async () => {
    const { fleet, clock, stateOf, pass } = started();
    await pass(4 * WINDOW_MS);
    expect([stateOf('n'), fleet.term.isYoung(clock.monotonic())]).toEqual(['absent', false]);
    fleet.beginTerm();
    expect(fleet.term.isYoung(clock.monotonic())).toBe(true);
    await pass(WINDOW_MS - 1000);
    expect(stateOf('n')).toBe('unheard');
    await pass(1000);
    expect(stateOf('n')).toBe('absent');
  });

  test('gives a node longer that says of itself that a service is ready: it had an agent', async () => {
    const { fleet, stateOf, pass } = started(['m']);
    const label = serviceOf().publish.label ?? '';
    const fieldsV1 = { 'f:metadata': { 'f:labels': { [`f:${label}`]: {} } } };
    const managedFields = [{ manager: 'rollcall', operation: 'Apply' as const, fieldsV1 }];
    const metadata = { name: 'n', uid: 'uid-n', resourceVersion: '2', labels: { [label]: 'true' } };
    fleet.nodeHandlers.onUpsert(fleet.observe({ metadata: { ...metadata, managedFields } }));
    fleet.beginTerm();
    await pass(WINDOW_MS);
    expect([stateOf('n'), stateOf('m')]).toEqual(['unheard', 'absent']);
    await pass(120_000 - WINDOW_MS - 1000);
    expect(stateOf('n')).toBe('unheard');
    await pass(1000);
    expect(stateOf('n')).toBe('silent');
  });

  test('whose agents are gone holds for a service that publishes a taint alone what it holds for one with a label', async () => {
    const clock = new FakeClock();
    const origin = { kind: 'object', uid: 'x', generation: 1, createdAtMs: 0 } as const;
    const taint = { key: 'readiness.k8s.io/ebs', value: '', effect: 'NoSchedule' } as const;
    const service = serviceOf('ebs', { publish: { taint }, origin });
    const { fleet } = watchedFleet([], { clock, services: () => [service], windowMs: WINDOW_MS });
    const annotations = (name: string) => ({
      [SERVICES_STARTED_ANNOTATION]: JSON.stringify({ node: `uid-${name}`, services: { ebs: 'x:1' } }),
    });
    const fieldsV1 = { 'f:metadata': { 'f:annotations': { [`f:${SERVICES_STARTED_ANNOTATION}`]: {} } } };
    for (const name of ['a', 'b', 'c']) {
      const managedFields = [{ manager: 'rollcall', operation: 'Apply' as const, fieldsV1 }];
      const metadata = {
        name,
        uid: `uid-${name}`,
        resourceVersion: '2',
        annotations: annotations(name),
        managedFields,
      };
      fleet.nodeHandlers.onUpsert(fleet.observe({ metadata, spec: { taints: [] } }));
    }
    fleet.beginTerm();
    for (let seconds = 0; seconds < 150; seconds += 1) {
      await clock.advance(1000);
      fleet.tick();
    }
    expect(fleet.snapshot('a')?.freshness).toEqual({ state: 'silent', guard: 'fleet' });
  });

  test('does not wait for an agent on nodes where what it says is not needed, and does not take them for silent', async () => {
    const clock = new FakeClock();
    const label = 'service.rollcall.dev/a';
    // As the documentation has it for nodes without an agent, such as those of Fargate.
    const checks = [{ name: 'either', kind: 'anyOf', checks: [podsCheck('a'), probeCheck('a/probe')] }] as const;
    const service = serviceOf('a', { checks, publish: { label } });
    const { fleet } = watchedFleet([], { clock, services: () => [service], windowMs: WINDOW_MS });
    const fieldsV1 = { 'f:metadata': { 'f:labels': { [`f:${label}`]: {} } } };
    const managedFields = [{ manager: 'rollcall', operation: 'Apply' as const, fieldsV1 }];
    for (const name of ['a', 'b', 'c']) {
      const metadata = { name, uid: name, resourceVersion: '2', labels: { [label]: 'true' }, managedFields };
      fleet.nodeHandlers.onUpsert(fleet.observe({ metadata }));
    }
    fleet.beginTerm();
    for (let seconds = 0; seconds < 150; seconds += 1) {
      await clock.advance(1000);
      fleet.tick();
    }
    expect([fleet.snapshot('a')?.freshness, fleet.guards()]).toEqual([{ state: 'absent' }, []]);
  });

  const at = (ageMs: number, ready: boolean) => ({ createdAtMs: new FakeClock().now() - ageMs, ready });
  test.each<[string, Partial<ObservedPod>[], number]>([
    ['has just been created and is not Ready', [at(0, false)], 120_000],
    ['was created a while ago and is not Ready', [at(119_999, false)], 120_000],
    ['was created long ago and is not Ready', [at(120_000, false)], WINDOW_MS],
    ['has just been created and is Ready', [at(0, true)], WINDOW_MS],
    ['is new beside one that is Ready', [at(0, false), at(600_000, true)], WINDOW_MS],
  ])('waits for the agent whose pod %s', async (_what, pods, silentAfterMs) => {
    const { fleet, stateOf, pass } = started();
    fleet.agentPods.handlers().onReplace(pods.map((pod, index) => agentPod(`p${index}`, 'n', pod)));
    fleet.beginTerm();
    await pass(silentAfterMs - 1000);
    expect(stateOf('n')).toBe('unheard');
    await pass(1000);
    expect(stateOf('n')).toBe('silent');
  });
});

test('a node whose agent falls silent, or whose agent is no longer waited for, is urgent', async () => {
  const { fleet, told, stateOf, pass } = started(['n', 'm']);
  fleet.agentPods.handlers().onReplace([agentPod('p', 'n')]);
  fleet.beginTerm();
  await pass(WINDOW_MS - 1000);
  told();
  await pass(1000);
  expect([stateOf('n'), stateOf('m'), told().sort()]).toEqual(['silent', 'absent', ['m urgent', 'n urgent']]);
});

test('every node is looked at where the API server was lost and is back', () => {
  const { fleet, told } = started(['n', 'm']);
  fleet.recovered();
  expect(told()).toEqual(['n normal', 'm normal']);
});

describe('the pod of an agent', () => {
  test('that comes to a node without one is waited for', async () => {
    const { fleet, told, stateOf, pass } = started();
    await pass(WINDOW_MS);
    expect(stateOf('n')).toBe('absent');
    told();
    fleet.agentPods.handlers().onUpsert(agentPod('p', 'n'));
    expect([stateOf('n'), fleet.freshness.population.expected, told()]).toEqual(['unheard', 1, ['n normal']]);
  });

  test('that is gone leaves the word to another, and what that one says of the machine', () => {
    const { fleet, told, report } = started();
    const [old, young] = [agentPod('old', 'n', { createdAtMs: 1000 }), agentPod('young', 'n', { createdAtMs: 2000 })];
    fleet.agentPods.handlers().onReplace([old, young]);
    report('old', 'of old');
    report('young', 'of young');
    const cpu = () => fleet.snapshot('n')?.machine?.facts['cpu'];
    expect(cpu()).toBe('of young');
    told();
    fleet.agentPods.handlers().onDelete(young);
    expect([cpu(), told()]).toEqual(['of old', ['n urgent']]);
  });

  test('that is gone and did not count is nothing urgent', () => {
    const { fleet, told, report } = started();
    const [old, young] = [agentPod('old', 'n', { createdAtMs: 1000 }), agentPod('young', 'n', { createdAtMs: 2000 })];
    fleet.agentPods.handlers().onReplace([old, young]);
    report('old', 'of old');
    report('young', 'of young');
    told();
    fleet.agentPods.handlers().onDelete(old);
    expect([fleet.snapshot('n')?.machine?.facts['cpu'], told()]).toEqual(['of young', ['n normal']]);
  });
});
