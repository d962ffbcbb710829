import type { FullReport } from '@rollcall/common/report.ts';
import { FakeClock } from '@rollcall/common/testing/fake-clock.ts';
import { expect, test } from 'vitest';
import { podsCheck, probeCheck, serviceOf } from '../model/services.test-fixtures.ts';
import { agentPod, fleetWith } from './fleet.test-fixtures.ts';
import { countByFreshness } from './metrics.ts';
import { serviceList } from './probe-targets.ts';

const TOLERATIONS: readonly never[] = [];
const NODE = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n', uid: 'u', resourceVersion: '1' } };

function heardFleet() {
  const clock = new FakeClock();
  const news: string[] = [];
  const fleet = fleetWith({ clock }, { changed: (_node, urgent) => news.push(urgent ? 'urgent' : 'normal') });
  fleet.nodeHandlers.onReplace([fleet.observe(NODE)]);
  news.length = 0;
  let sequence = 0;
  const report = (serial: string, ready = true) => {
    sequence += 1;
    const services = [{ name: 'ws-daemon', ready, since: '2026-01-01T00:00:00Z', evidence: 'tcp', digest: 'c' }];
    const devices = [{ bus: 'usb' as const, attributes: { serial } }];
    const full: FullReport = {
      node: 'n',
      boot: 'b',
      sequence,
      digest: `${serial}${ready}`,
      services,
      devices,
      facts: {},
    };
    fleet.accept(full, { node: 'n', nodeUid: 'u' });
    return news.splice(0);
  };
  const tick = () => {
    fleet.tick();
    return news.splice(0);
  };
  const serial = () => fleet.snapshot('n')?.machine?.devices[0]?.attributes['serial'];
  expect(report('first')).toEqual(['urgent']);
  // Every node is looked at once when the fleet is known.
  tick();
  return { clock, fleet, report, tick, serial };
}

test('a report that is other as far as a service goes is urgent, and one about hardware alone is not', async () => {
  const { clock, report } = heardFleet();
  await clock.advance(2000);
  expect(report('first', false)).toEqual(['urgent']);
  expect(report('second', false)).toEqual(['normal']);
  expect(report('second', false)).toEqual([]);
});

test('hardware that keeps changing is looked at once a second, and services beside it at once', async () => {
  const { clock, report, tick, serial, fleet } = heardFleet();
  const news = Array.from({ length: 20 }, (_, index) => report(`x${index}`)).flat();
  expect(news).toEqual(['normal', 'normal', 'normal', 'normal']);
  expect(report('last', false)).toEqual(['urgent']);
  expect(fleet.record('n')?.sessions.content?.services[0]?.ready).toBe(false);
  expect(serial()).toBe('x3');
  await clock.advance(1000);
  expect(tick()).toEqual(['normal']);
  expect(serial()).toBe('last');
  expect(tick()).toEqual([]);
});

test('the reply says what to probe, and asks for the next report soon while that is not settled', async () => {
  const clock = new FakeClock();
  const service = serviceOf('ws-daemon', {
    checks: [podsCheck('ws-daemon'), probeCheck('ws-daemon', { spec: { kind: 'tcp' }, port: 80, host: 'Pod' })],
  });
  const fleet = fleetWith({ clock, services: () => [service] });
  fleet.nodeHandlers.onReplace([fleet.observe(NODE)]);
  const identity = {
    uid: 'p',
    namespace: 'default',
    name: 'p',
    labels: { component: 'ws-daemon' },
    daemonSet: '',
    tolerations: TOLERATIONS,
    node: 'n',
    createdAtMs: 0,
    hostIP: '10.0.0.7',
  };
  const pod = { ...identity, podIP: '10.1.0.1', ready: true, terminating: false, startTime: '', readySinceMs: 0 };
  let sequence = 0;
  const reply = (ready: boolean) => {
    sequence += 1;
    const digest = serviceList([service], [pod]).services[0]?.digest ?? '';
    const services = [{ name: 'ws-daemon', ready, since: '2026-01-01T00:00:00Z', evidence: 'tcp', digest }];
    const report = { node: 'n', boot: 'b', sequence, digest: `${ready}`, services, devices: [], facts: {} };
    return fleet.accept(report, { node: 'n', nodeUid: 'u' }).reply;
  };
  const target = { host: '10.1.0.1', port: 80 };
  expect(reply(true)).toMatchObject({ nextReportSeconds: 2, services: [] });
  const pods = fleet.servicePods.handlers('default');
  pods.onReplace([pod]);
  expect(reply(true)).toMatchObject({
    nextReportSeconds: 2,
    services: [{ name: 'ws-daemon', target, podAddresses: ['10.0.0.7', '10.1.0.1'] }],
  });
  expect(reply(false)).toMatchObject({ nextReportSeconds: 1 });
  expect(reply(true)).toMatchObject({ nextReportSeconds: 2 });
  pods.onDelete(pod);
  expect(reply(true)).toMatchObject({ nextReportSeconds: 1, services: [] });
  await clock.advance(60_000);
  expect(reply(true)).toMatchObject({ nextReportSeconds: 2 });
});

/** Ten nodes with the label of a service; each agent has a pod, and reports unless it is left out. */
function tenNodes(poolLabels: readonly string[] = []) {
  const clock = new FakeClock();
  const gone: string[] = [];
  const fleet = fleetWith({ clock, services: () => [serviceOf()], poolLabels }, { gone: (node) => gone.push(node) });
  const names = Array.from({ length: 10 }, (_, index) => `n${index}`);
  const node = (name: string, uid = `uid-${name}`, resourceVersion = '1') =>
    fleet.observe({ metadata: { name, uid, resourceVersion } });
  const pods = names.map((name) => agentPod(`agent-${name}`, name));
  fleet.nodeHandlers.onReplace(names.map((name) => node(name)));
  fleet.agentPods.handlers().onReplace(pods);
  fleet.beginTerm();
  let sequence = 0;
  const report = (reporting: readonly string[]) => {
    sequence += 1;
    for (const name of reporting) {
      const full: FullReport = { node: name, boot: name, sequence, digest: 'd', services: [], devices: [], facts: {} };
      fleet.accept(full, {
        node: name,
        nodeUid: `uid-${name}`,
        pod: { name: `agent-${name}`, uid: `uid-agent-${name}` },
      });
    }
  };
  const pass = async (seconds: number, reporting: readonly string[]) => {
    for (let second = 0; second < seconds; second += 1) {
      if (second % 10 === 0) report(reporting);
      await clock.advance(1000);
      fleet.tick();
    }
  };
  const stateOf = (name: string) => fleet.snapshot(name)?.freshness;
  return { fleet, names, node, pods, pass, stateOf, gone };
}

test('a node that is gone is expected no more, and no guard holds because of it', async () => {
  const { fleet, names, node, pass, stateOf, gone } = tenNodes();
  await pass(20, names);
  await pass(40, names.slice(7));
  expect(fleet.freshness.held().map(({ of }) => of)).toEqual(['fleet']);
  expect(fleet.freshness.population).toEqual({ expected: 10, overdue: 7 });
  for (const name of names.slice(1, 7)) fleet.nodeHandlers.onDelete(node(name));
  expect(gone).toEqual(names.slice(1, 7));
  expect(fleet.freshness.population).toEqual({ expected: 4, overdue: 1 });
  await pass(2, names.slice(7));
  expect(fleet.freshness.held().map(({ of }) => of)).toEqual([]);
  // It was not evaluated while the guard held, and gets one window of its own.
  expect(stateOf('n0')).toEqual({ state: 'unheard' });
  await pass(40, names.slice(7));
  expect(stateOf('n0')).toEqual({ state: 'silent' });
  const count = { fresh: 3, leaving: 0, unheard: 0, silent: 1, absent: 0, maintenance: 0 };
  expect(countByFreshness(fleet, true)).toEqual(count);
  const becomes = (type: string, name = 'n0') => {
    const metadata = { name, uid: `uid-${name}`, resourceVersion: '2' };
    fleet.nodeHandlers.onUpsert(fleet.observe({ metadata, status: { conditions: [{ type, status: 'True' }] } }));
    return countByFreshness(fleet, true);
  };
  expect(becomes('MaintenancePlanned')).toEqual(count);
  expect(becomes('DrainInProgress', 'n8')).toEqual(count);
  expect(becomes('DrainInProgress')).toEqual({ ...count, silent: 0, maintenance: 1 });
});

test('a Node of the same name with another uid is another, of which nothing was heard', async () => {
  const { fleet, names, node, pass, stateOf, gone } = tenNodes();
  await pass(20, names);
  expect(stateOf('n0')).toEqual({ state: 'fresh' });
  fleet.nodeHandlers.onUpsert(node('n0', 'uid-n0', '2'));
  expect([stateOf('n0'), gone]).toEqual([{ state: 'fresh' }, []]);
  fleet.nodeHandlers.onUpsert(node('n0', 'other', '3'));
  expect([stateOf('n0'), gone]).toEqual([{ state: 'unheard' }, ['n0']]);
  expect(fleet.freshness.population.expected).toBe(9);
  // What its predecessor's agent says is not about it.
  await pass(1, names);
  expect(stateOf('n0')).toEqual({ state: 'unheard' });
});

test('a Node that has other labels is the same, and is counted in the pool that it is in now', async () => {
  const { fleet, names, pass, stateOf } = tenNodes(['pool']);
  await pass(20, names);
  const inPool = (name: string, pool: string, resourceVersion: string) =>
    fleet.observe({ metadata: { name, uid: `uid-${name}`, resourceVersion, labels: { pool } } });
  for (const name of names.slice(0, 4)) fleet.nodeHandlers.onUpsert(inPool(name, 'gold', '2'));
  expect(names.map(stateOf)).toEqual(names.map(() => ({ state: 'fresh' })));
  await pass(40, names.slice(4));
  expect(fleet.freshness.held().map(({ of }) => of)).toEqual(['pool gold']);
  fleet.nodeHandlers.onUpsert(inPool('n0', 'silver', '3'));
  expect(stateOf('n1')).toEqual({ state: 'silent', guard: 'pool gold' });
});

test('an agent that says goodbye before it has said what it sees vouches for nothing', () => {
  const { fleet, stateOf } = tenNodes();
  const goodbye = { node: 'n0', boot: 'n0', sequence: 1, digest: 'd', leaving: true as const };
  fleet.accept(goodbye, { node: 'n0', nodeUid: 'uid-n0', pod: { name: 'agent-n0', uid: 'uid-agent-n0' } });
  expect(stateOf('n0')).toEqual({ state: 'unheard' });
});

test('what a whole Node says of taints and conditions is kept of the same Node, unless it is older', () => {
  const { fleet, node } = tenNodes();
  const taints = [{ key: 'k', effect: 'NoSchedule' as const }];
  const whole = (uid: string, resourceVersion: string) => ({
    metadata: { name: 'n0', uid, resourceVersion },
    spec: { taints },
    status: {},
  });
  fleet.nodeHandlers.onUpsert(node('n0', 'uid-n0', '5'));
  const elsewhere = { ...whole('uid-n0', '6'), metadata: { name: 'nowhere', uid: 'u', resourceVersion: '6' } };
  const strange = [whole('another', '6'), whole('uid-n0', '4'), elsewhere];
  expect(strange.map((each) => fleet.noteStrays(each))).toEqual([false, false, false]);
  expect(fleet.node('n0')?.taints).toBeUndefined();
  expect(fleet.noteStrays(whole('uid-n0', '5'))).toBe(true);
  expect(fleet.node('n0')).toMatchObject({ taints, conditions: [], resourceVersion: '5' });
});

test('the pod of an agent on an unknown node is ignored', () => {
  const { fleet, pods } = tenNodes();
  const [pod] = pods;
  if (!pod) throw new Error('there are ten');
  const stray = { ...pod, uid: 'stray', name: 'stray', node: 'nowhere' };
  fleet.agentPods.handlers().onUpsert(stray);
  expect(() => fleet.agentPods.handlers().onDelete(stray)).not.toThrow();
  expect(fleet.freshness.population.expected).toBe(10);
});

test('the pods of agents that reported are no proof, when they go all at once, that no node has one', async () => {
  const { fleet, names, pass, stateOf } = tenNodes();
  await pass(20, names);
  fleet.agentPods.handlers().onReplace([]);
  expect(fleet.freshness.population.expected).toBe(10);
  await pass(300, []);
  expect(fleet.freshness.held().map(({ of }) => of)).toEqual(['fleet']);
  expect(names.map(stateOf)).toEqual(names.map(() => ({ state: 'silent', guard: 'fleet' })));
});

test('a node of which nothing was heard stays expected while another pod of an agent is on it', async () => {
  const { fleet, pods } = tenNodes();
  const [old] = pods;
  if (!old) throw new Error('there are ten');
  const successor = { ...old, uid: 'successor', name: 'successor' };
  fleet.agentPods.handlers().onUpsert(successor);
  fleet.agentPods.handlers().onDelete(old);
  expect(fleet.freshness.population.expected).toBe(10);
  fleet.agentPods.handlers().onDelete(successor);
  expect(fleet.freshness.population.expected).toBe(9);
});

test('a pod of an agent that is on its way out is none when a term begins', () => {
  const { fleet, names, pods, stateOf } = tenNodes();
  const [leaving, ...others] = pods;
  if (!leaving) throw new Error('there are ten');
  fleet.agentPods.handlers().onReplace([{ ...leaving, terminating: true }, ...others]);
  fleet.beginTerm();
  expect(fleet.freshness.population.expected).toBe(9);
  expect(names.map(stateOf)).toEqual(names.map(() => ({ state: 'unheard' })));
});

test('a replica that had lost the API server holds what was heard before against no agent', async () => {
  const { fleet, names, pass, stateOf } = tenNodes();
  await pass(20, names);
  await pass(29, names.slice(1));
  fleet.recovered();
  expect(names.map(stateOf)).toEqual(names.map(() => ({ state: 'unheard' })));
  await pass(29, names.slice(1));
  expect(stateOf('n0')).toEqual({ state: 'unheard' });
  await pass(2, names.slice(1));
  expect(stateOf('n0')).toEqual({ state: 'silent' });
});
