import type { FullReport } from '@rollcall/common/report.ts';
import { FakeClock } from '@rollcall/common/testing/fake-clock.ts';
import { describe, expect, test } from 'vitest';
import { podsCheck, serviceOf } from '../model/services.test-fixtures.ts';
import type { ConditionCheck, Service } from '../model/services.ts';
import { agentPod, fleetWith, watchedFleet } from './fleet.test-fixtures.ts';

const WINDOW_MS = 30_000;
const CONDITION: ConditionCheck = {
  ...{ name: 'kernel', kind: 'condition', id: 'npd/kernel' },
  settings: { type: 'KernelHealthy', status: 'True', missing: 'Unknown' },
};

/**
 * A hundred nodes whose agents have a pod. The agents of the first forty nodes report, or reported to the previous
 * term, which a label shows; the others cannot start.
 */
function halfStarted(services: readonly Service[] = [serviceOf()]) {
  const clock = new FakeClock();
  const fleet = fleetWith({ clock, services: () => services });
  const names = Array.from({ length: 100 }, (_, index) => `n${index}`);
  const healthy = names.slice(0, 40);
  const label = services[0]?.publish.label ?? '';
  const fieldsV1 = { 'f:metadata': { 'f:labels': { [`f:${label}`]: {} } } };
  const managedFields = [{ manager: 'rollcall', operation: 'Apply' as const, fieldsV1 }];
  const node = (name: string, isShown: boolean) => {
    const metadata = { name, uid: `uid-${name}`, resourceVersion: '1', labels: isShown ? { [label]: 'true' } : {} };
    return fleet.observe({ metadata: { ...metadata, ...(isShown ? { managedFields } : {}) } });
  };
  const begin = (shown: readonly string[], ready: readonly string[]) => {
    fleet.nodeHandlers.onReplace(names.map((name) => node(name, shown.includes(name))));
    const pods = names.map((name) => agentPod(`agent-${name}`, name, { ready: ready.includes(name) }));
    fleet.agentPods.handlers().onReplace(pods);
    fleet.beginTerm();
  };
  let sequence = 0;
  const report = (name: string, change: { boot?: string; leaving?: true; services?: [] } = {}) => {
    sequence += 1;
    const header = { node: name, boot: name, sequence, digest: 'd' };
    const full = { ...header, services: [], devices: [], facts: {}, ...change } as FullReport;
    const pod = { name: `agent-${name}`, uid: `uid-agent-${name}` };
    return fleet.accept(full, { node: name, nodeUid: `uid-${name}`, pod }).result;
  };
  const pass = async (seconds: number, reporting: readonly string[]) => {
    for (let second = 0; second < seconds; second += 1) {
      if (second % 10 === 0) for (const name of reporting) report(name);
      await clock.advance(1000);
      fleet.tick();
    }
  };
  const stateOf = (name: string) => fleet.snapshot(name)?.freshness;
  return { fleet, clock, names, healthy, node, begin, report, pass, stateOf };
}

test('a node is looked at when the reporter of a condition has been away for the window', async () => {
  const clock = new FakeClock();
  const reporter = { namespace: 'kube-system', selector: { matchLabels: { app: 'npd' } } };
  const check = { ...CONDITION, settings: { ...CONDITION.settings, reporter } };
  const service = serviceOf('npd', { checks: [check] });
  const { fleet, told } = watchedFleet(['a'], { clock, services: () => [service], guardPercent: 0 });
  const { servicePods } = fleet;
  servicePods.handlers('kube-system').onReplace([]);
  told();
  const metadata = { name: 'a', uid: 'uid-a', resourceVersion: '2' };
  const status = { conditions: [{ type: 'KernelHealthy', status: 'True' }] };
  fleet.nodeHandlers.onUpsert(fleet.observe({ metadata, spec: {}, status }));
  fleet.beginTerm();
  fleet.tick();
  told();
  await clock.advance(WINDOW_MS);
  fleet.tick();
  expect(told()).not.toEqual([]);
  expect(fleet.snapshot('a')?.doubt(check).sinceMs).toBeDefined();
});

describe('agents that were never heard', () => {
  test('keep no guard on: an agent that dies is silent, although most others never started', async () => {
    const { fleet, healthy, begin, pass, stateOf } = halfStarted();
    begin([], []);
    await pass(300, healthy);
    await pass(40, healthy.slice(1));
    expect(fleet.freshness.held().map(({ of }) => of)).toEqual([]);
    expect(stateOf('n0')).toEqual({ state: 'silent' });
  });

  test.each([
    ['shows a service as ready', true],
    ['has an agent whose pod is Ready', false],
  ])('do not count after a take-over, where a node counts that %s', async (_what, isShown) => {
    const { fleet, healthy, begin, pass, stateOf } = halfStarted();
    begin(isShown ? healthy : [], isShown ? [] : healthy);
    expect(fleet.freshness.population.expected).toBe(40);
    await pass(40, healthy.slice(1));
    expect(fleet.freshness.held().map(({ of }) => of)).toEqual([]);
    expect(stateOf('n0')).toEqual({ state: 'silent' });
    const cut = halfStarted();
    cut.begin(isShown ? healthy : [], isShown ? [] : healthy);
    await cut.pass(40, healthy.slice(30));
    expect(cut.stateOf('n0')).toEqual({ state: 'silent', guard: 'fleet' });
  });

  test('do not count for a label that says nothing of an agent', async () => {
    const byPods = serviceOf('ws-daemon', { checks: [podsCheck('ws-daemon')] });
    const { fleet, healthy, names, begin, pass } = halfStarted([byPods]);
    begin(names, []);
    await pass(40, healthy);
    expect(fleet.freshness.population.expected).toBe(40);
  });

  test('do not count for a Ready pod of the machine before', () => {
    const { fleet, healthy, node, begin } = halfStarted();
    begin([], healthy);
    const creationTimestamp = '2026-01-01T00:00:00Z';
    const made = { ...node('n0', false), createdAtMs: Date.parse(creationTimestamp), resourceVersion: '2' };
    fleet.nodeHandlers.onUpsert(made);
    fleet.beginTerm();
    expect(fleet.freshness.population.expected).toBe(39);
  });

  test('are held against no node while no agent of the fleet was heard', async () => {
    const { fleet, healthy, begin, pass, stateOf } = halfStarted();
    begin([], []);
    await pass(100, []);
    expect(stateOf('n0')).toEqual({ state: 'silent', guard: 'fleet' });
    await pass(1, healthy);
    expect(fleet.freshness.held().map(({ of }) => of)).toEqual([]);
    expect(stateOf('n99')).toEqual({ state: 'unheard' });
    await pass(30, healthy);
    expect(stateOf('n99')).toEqual({ state: 'silent' });
  });
});

describe('a goodbye', () => {
  test('of agents that never spoke gives a node no time, however often their pods go', async () => {
    const { fleet, healthy, begin, pass, stateOf } = halfStarted();
    begin([], []);
    const states = new Set<string | undefined>();
    for (let pod = 0; pod < 10; pod += 1) {
      const name = `n99-${pod}`;
      fleet.agentPods.handlers().onUpsert(agentPod(name, 'n99', { ready: false }));
      if (pod === 0) fleet.agentPods.handlers().onDelete(agentPod('agent-n99', 'n99'));
      else fleet.agentPods.handlers().onDelete(agentPod(`n99-${pod - 1}`, 'n99'));
      await pass(20, healthy);
      if (pod > 1) states.add(stateOf('n99')?.state);
    }
    expect([...states]).toEqual(['silent']);
  });

  test('of agents that only ever send the digest of what they see gives a node no time', async () => {
    const { fleet, healthy, begin, pass, stateOf } = halfStarted();
    begin([], []);
    const states = new Set<string | undefined>();
    for (let boot = 0; boot < 10; boot += 1) {
      const heartbeat = { node: 'n99', boot: `b${boot}`, sequence: 1, digest: 'd' };
      const identity = { node: 'n99', nodeUid: 'uid-n99', pod: { name: `b${boot}`, uid: `b${boot}` } };
      fleet.accept(heartbeat, identity);
      fleet.accept({ ...heartbeat, sequence: 2, leaving: true }, identity);
      await pass(20, healthy);
      if (boot > 1) states.add(stateOf('n99')?.state);
    }
    expect([...states]).toEqual(['silent']);
  });

  test('that one session says again and again gives time once', async () => {
    const { healthy, begin, report, pass, stateOf } = halfStarted();
    begin([], []);
    expect([report('n0'), report('n0', { leaving: true })]).toEqual(['content', 'leaving']);
    for (let again = 0; again < 3; again += 1) {
      await pass(40, healthy.slice(1));
      expect(report('n0', { leaving: true })).toBe('beside');
    }
    expect(stateOf('n0')).toEqual({ state: 'silent' });
  });

  test('of an agent that speaks no more gives no time to the next one that never speaks', async () => {
    const { fleet, healthy, begin, report, pass, stateOf } = halfStarted();
    begin([], []);
    report('n0');
    report('n0', { leaving: true });
    for (let pod = 0; pod < 5; pod += 1) {
      fleet.agentPods.handlers().onUpsert(agentPod(`n0-${pod}`, 'n0', { ready: false }));
      await pass(30, healthy.slice(1));
      fleet.agentPods.handlers().onDelete(agentPod(`n0-${pod}`, 'n0'));
    }
    expect(stateOf('n0')).toEqual({ state: 'silent' });
  });

  test('of a session that spoke to the term before gives time once', async () => {
    const { fleet, healthy, begin, pass, stateOf } = halfStarted();
    begin(healthy, healthy);
    await pass(20, healthy.slice(1));
    fleet.agentPods.handlers().onUpsert(agentPod('next', 'n0', { ready: false }));
    fleet.agentPods.handlers().onDelete(agentPod('agent-n0', 'n0'));
    await pass(119, healthy.slice(1));
    expect(stateOf('n0')).toEqual({ state: 'unheard' });
    fleet.agentPods.handlers().onUpsert(agentPod('last', 'n0', { ready: false }));
    fleet.agentPods.handlers().onDelete(agentPod('next', 'n0'));
    await pass(1, healthy.slice(1));
    expect(stateOf('n0')).toEqual({ state: 'silent' });
  });

  test('of an agent that is silent already does not make what it said count again', async () => {
    const { fleet, healthy, begin, pass, stateOf } = halfStarted();
    begin([], []);
    await pass(10, healthy);
    await pass(40, healthy.slice(1));
    expect(stateOf('n0')).toEqual({ state: 'silent' });
    fleet.agentPods.handlers().onDelete(agentPod('agent-n0', 'n0'));
    expect(stateOf('n0')).toEqual({ state: 'silent' });
  });
});

test('nodes that fall silent while the coordinator stands still are guarded before the first one counts as silent', async () => {
  const { fleet, clock, healthy, begin, pass, stateOf } = halfStarted();
  begin([], []);
  await pass(20, healthy);
  clock.standStill(60_000);
  expect(stateOf('n0')).toEqual({ state: 'fresh' });
  fleet.tick();
  expect(stateOf('n0')).toEqual({ state: 'silent', guard: 'fleet' });
});
