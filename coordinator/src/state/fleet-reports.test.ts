import type { FullReport, Heartbeat } from '@rollcall/common/report.ts';
import { FakeClock } from '@rollcall/common/testing/fake-clock.ts';
import { describe, expect, test } from 'vitest';
import { probeCheck, serviceOf } from '../model/services.test-fixtures.ts';
import { agentPod, watchedFleet } from './fleet.test-fixtures.ts';
import type { FleetOptions } from './fleet.ts';
import { serviceList } from './probe-targets.ts';

function started(change: Partial<FleetOptions> = {}) {
  const clock = new FakeClock();
  const watched = watchedFleet(['n'], { clock, ...change });
  const { fleet } = watched;
  const state = () => fleet.snapshot('n')?.freshness.state;
  const pass = async (ms: number) => {
    await clock.advance(ms);
    fleet.tick();
  };
  return { ...watched, state, pass };
}

function heartbeat(boot: string, sequence: number, change: Partial<Heartbeat> = {}): Heartbeat {
  return { node: 'n', boot, sequence, digest: 'd', ...change };
}

function full(boot: string, sequence: number, change: Partial<Heartbeat> = {}): FullReport {
  return { ...heartbeat(boot, sequence, change), services: [], devices: [], facts: {} };
}

/** An agent by the name of its pod. */
const by = (name: string, issuedAtSeconds = 0) => ({
  ...{ node: 'n', nodeUid: 'uid-n', issuedAtSeconds },
  pod: { name, uid: `uid-${name}` },
});

describe('the reply to a report', () => {
  test('of a node that is not known any more says that the report does not count, and nothing of services', () => {
    const { fleet } = started();
    expect(fleet.accept({ ...full('b', 1), node: 'gone' }, { ...by('p'), node: 'gone' })).toEqual({
      result: 'ignored',
      reply: { nextReportSeconds: 2, newSession: true },
    });
  });

  test('asks for the content where that is not known, and only then', () => {
    const { fleet } = started();
    expect(fleet.accept(heartbeat('b', 1), by('p')).reply.full).toBe(true);
    expect(fleet.accept(full('b', 2), by('p')).reply).not.toHaveProperty('full');
    expect(fleet.accept(heartbeat('b', 3), by('p')).reply).not.toHaveProperty('full');
    expect(fleet.accept(heartbeat('b', 4, { digest: 'e' }), by('p')).reply.full).toBe(true);
  });

  test('asks for a new session where the report does not count, and has no list of services then', () => {
    const { fleet } = started();
    expect(fleet.accept(full('b', 1), by('p')).reply).not.toHaveProperty('newSession');
    const reply = { nextReportSeconds: 2, newSession: true };
    expect(fleet.accept(full('b', 1), by('p'))).toEqual({ result: 'ignored', reply });
    expect(fleet.accept(full('b', Number.MAX_SAFE_INTEGER), by('p'))).toEqual({ result: 'ignored', reply });
    fleet.accept(full('c', 1), by('p'));
    expect(fleet.accept(full('b', 2), by('p'))).toMatchObject({ result: 'superseded', reply });
    expect(fleet.accept(full('d', 1), by('p')).result).toBe('content');
  });

  test('does not ask the agent of an older pod for a new session: it is replaced', () => {
    const { fleet } = started();
    fleet.accept(full('b', 1), by('new', 20));
    const { result, reply } = fleet.accept(full('a', 1), by('old', 10));
    expect(result).toBe('beside');
    expect(reply).not.toHaveProperty('newSession');
  });

  test('has the list of services only where the agent has another one', () => {
    let services = [serviceOf('a', { checks: [probeCheck('a', { spec: { kind: 'tcp' }, port: 1 })] })];
    const { fleet } = started({ services: () => services });
    const { servicesDigest = '', ...first } = fleet.accept(full('b', 1), by('p')).reply;
    expect(first.services).toHaveLength(1);
    for (const [sequence, report] of [
      full('b', 2, { servicesDigest }),
      heartbeat('b', 3, { servicesDigest }),
    ].entries()) {
      const { reply } = fleet.accept({ ...report, sequence: sequence + 2 }, by('p'));
      expect(reply).toEqual({ nextReportSeconds: 2 });
    }
    services = [];
    const { reply } = fleet.accept(heartbeat('b', 4, { servicesDigest }), by('p'));
    expect(reply).toMatchObject({ services: [], servicesDigest: expect.not.stringMatching(servicesDigest) });
  });

  test('has the questions of rules, where there are any', () => {
    let questions: string[] = [];
    const { fleet } = started({ questions: () => questions });
    expect(fleet.accept(full('b', 1), by('p')).reply).not.toHaveProperty('questions');
    questions = ['nfd:cpu.model.family'];
    expect(fleet.accept(full('b', 2), by('p')).reply.questions).toEqual(questions);
  });

  test('returns services, and it is known since when', async () => {
    const service = serviceOf();
    const { fleet, pass } = started({ services: () => [service] });
    await pass(1000);
    const labels = { component: service.name };
    fleet.servicePods
      .handlers('default')
      .onUpsert(agentPod('p', 'n', { namespace: 'default', labels, podIP: '10.1.0.1' }));
    const told = () => fleet.snapshot('n')?.assignedMs.get(service.name);
    expect(told()).toBeUndefined();
    expect(fleet.accept(full('b', 1), by('p')).reply.services).toHaveLength(1);
    await pass(1000);
    fleet.accept(heartbeat('b', 2), by('p'));
    expect(told()).toBe(1000);
  });

  test('counts for a service only as it was probed, until the agent reports on it as it is now', async () => {
    const on = (port: number) => [serviceOf('a', { checks: [probeCheck('a', { spec: { kind: 'tcp' }, port })] })];
    let services = on(1);
    const { fleet, pass } = started({ services: () => services });
    const digest = () => serviceList(services, []).services[0]?.digest ?? '';
    const report = (sequence: number, probed: string) => {
      const said = { name: 'a', ready: true, since: '2026-01-01T00:00:00Z', evidence: 'tcp', digest: probed };
      fleet.accept({ ...full('b', sequence), services: [said], digest: `${sequence}` }, by('p'));
    };
    const seen = () => fleet.snapshot('n')?.services.get('a')?.ready;
    const first = digest();
    report(1, first);
    expect(seen()).toBe(true);
    await pass(1000);
    services = on(2);
    expect([seen(), fleet.snapshot('n')?.assignedMs.get('a')]).toEqual([undefined, undefined]);
    report(2, first);
    expect([seen(), fleet.snapshot('n')?.assignedMs.get('a')]).toEqual([undefined, 1000]);
    report(3, digest());
    expect(seen()).toBe(true);
  });

  test('asks for the next one well within a window that is short', () => {
    const { fleet } = started({ windowMs: 6000 });
    expect(fleet.accept(full('b', 1), by('p')).reply.nextReportSeconds).toBe(2);
  });

  test('asks for the next one soon after a pod changed there, and not on a later Node of the same name', () => {
    const { fleet, node } = started();
    fleet.servicePods.handlers('default').onUpsert(agentPod('other', 'n', { ready: false }));
    expect(fleet.accept(full('b', 1), by('p')).reply.nextReportSeconds).toBe(1);
    fleet.nodeHandlers.onUpsert(node('n', {}, '2', 'another'));
    const { result, reply } = fleet.accept(full('c', 1), { ...by('p'), nodeUid: 'another' });
    expect([result, reply.nextReportSeconds]).toEqual(['content', 2]);
  });
});

describe('a node is', () => {
  test('no fresher by a report that was sent before', async () => {
    const { fleet, state, pass } = started();
    fleet.accept(full('b', 1), by('p'));
    await pass(30_000);
    expect(state()).toBe('silent');
    expect(fleet.accept(full('b', 1), by('p')).result).toBe('ignored');
    expect(state()).toBe('silent');
    expect(fleet.accept(full('b', 2), by('p')).result).toBe('content');
    expect(state()).toBe('fresh');
  });

  test('expected to report once an agent is there, and not fresh until that has said what it sees', async () => {
    const { fleet, state, pass } = started();
    await pass(30_000);
    expect(state()).toBe('absent');
    expect(fleet.accept(heartbeat('b', 1), by('p')).result).toBe('unknown-digest');
    expect([state(), fleet.freshness.population.expected]).toEqual(['unheard', 1]);
  });

  test('no fresher by the goodbye of an agent beside the one that speaks for it', async () => {
    const { fleet, state, pass } = started();
    fleet.agentPods.handlers().onReplace([agentPod('old', 'n'), agentPod('young', 'n', { createdAtMs: 1000 })]);
    fleet.accept(full('old', 1), by('old'));
    fleet.accept(full('young', 1), by('young'));
    await pass(20_000);
    expect(fleet.accept(heartbeat('young', 2, { leaving: true }), by('young')).result).toBe('beside');
    await pass(10_000);
    expect(state()).toBe('silent');
  });

  test('leaving until a session speaks that is not over: a late report of the one before the goodbye changes nothing', () => {
    const { fleet, state } = started();
    fleet.accept(full('earlier', 1), by('p'));
    fleet.accept(full('b', 1), by('p'));
    fleet.accept(heartbeat('b', 2, { leaving: true }), by('p'));
    expect(fleet.accept(full('earlier', 2), by('p')).reply.newSession).toBe(true);
    expect(state()).toBe('leaving');
    fleet.accept(full('later', 1), by('p'));
    expect(state()).toBe('fresh');
  });

  test('leaving by a goodbye that says what its agent saw last, if that is the first word of it', () => {
    const { fleet, state } = started();
    expect(fleet.accept(full('b', 1, { leaving: true }), by('p')).result).toBe('leaving');
    expect(state()).toBe('leaving');
  });

  test('spoken for by the agent whose pod is newer, whichever token was issued later', () => {
    const { fleet } = started();
    fleet.agentPods.handlers().onReplace([agentPod('old', 'n'), agentPod('young', 'n', { createdAtMs: 1000 })]);
    expect(fleet.accept(full('young', 1), by('young', 10)).result).toBe('content');
    expect(fleet.accept(full('old', 1), by('old', 20)).result).toBe('beside');
  });
});
