import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { systemClock } from '@rollcall/common/clock.ts';
import { Lifecycle } from '@rollcall/common/lifecycle.ts';
import { silentLogger } from '@rollcall/common/logging.ts';
import { Registry } from '@rollcall/common/metrics.ts';
import { Slices } from '@rollcall/common/slices.ts';
import { FakeClock } from '@rollcall/common/testing/fake-clock.ts';
import { coordinatorServerName } from '@rollcall/common/well-known.ts';
import type { Evaluator } from '@rollcall/coordinator/decide/evaluator.ts';
import { snapshot } from '@rollcall/coordinator/decide/readiness/readiness.test-fixtures.ts';
import type { CoordinatorConfig } from '@rollcall/coordinator/model/config.ts';
import { serviceOf } from '@rollcall/coordinator/model/services.test-fixtures.ts';
import type { Fleet } from '@rollcall/coordinator/state/fleet.ts';
import type { ObservedNode } from '@rollcall/coordinator/state/observed-node.ts';
import { observeWorkspacePod } from '@rollcall/coordinator/state/observed-workspace.ts';
import { createAuthority, issueLeaf } from '@rollcall/coordinator/tls/certificate-authority.ts';
import { CertificateHolder, type KeyPair } from '@rollcall/coordinator/tls/certificate-holder.ts';
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { ask, FILTER, PREDICATES, PRIORITIZE, workspaceJson } from './extender/extender.test-fixtures.ts';
import { type ExtenderOptions, openExtender, Scheduling } from './scheduling.ts';
import { REGULAR, WORKSPACES, workspacePod } from './scoring/scheduler.test-fixtures.ts';

describe('the pods of workspaces', () => {
  let scheduling: Scheduling;
  let settled: string[];
  let clock: FakeClock;
  let config: CoordinatorConfig;
  beforeEach(() => {
    clock = new FakeClock();
    const settings = { scoreWeights: [], namespace: 'default', placing: {} };
    config = settings as unknown as CoordinatorConfig;
    scheduling = new Scheduling({
      config,
      fleet: {} as Fleet,
      evaluator: {} as Evaluator,
      services: () => [],
      clock,
    });
    settled = [];
    scheduling.extenderService.settled = (id) => void settled.push(id);
  });

  const pod = (name: string, spec: object, status = {}) =>
    observeWorkspacePod({ metadata: { uid: name, namespace: 'default', name }, spec, status });

  test('that have a node, or have ended, are no longer on their way, whether they are listed or seen', () => {
    const { extenderService } = scheduling;
    const pods = [pod('waits', {}), pod('bound', { nodeName: 'n' }), pod('ended', {}, { phase: 'Failed' })];
    scheduling.podHandlers.onReplace(pods);
    expect(settled).toEqual(['bound', 'ended']);
    for (const each of pods) scheduling.podHandlers.onUpsert(each);
    expect(settled).toEqual(['bound', 'ended', 'bound', 'ended']);
    scheduling.podHandlers.onDelete(pod('waits', {}));
    expect(settled.at(-1)).toBe('waits');
    expect(scheduling.extenderService).toBe(extenderService);
  });

  test('are asked about anew in each term: what was answered before is not known', () => {
    const { extenderService } = scheduling;
    scheduling.beginTerm();
    expect(scheduling.extenderService).not.toBe(extenderService);
  });

  test('are waited for while they are not seen yet, for a moment, and not where clients show who they are', async () => {
    const outcome = (promise: Promise<void> | undefined) =>
      Promise.race([Promise.resolve(promise).then(() => 'ended'), nextTurn().then(() => 'waits')]);
    const first = scheduling.arrival('a');
    expect(scheduling.arrival('a')).toBe(first);
    const other = scheduling.arrival('b');
    scheduling.podHandlers.onUpsert(pod('a', {}));
    expect(await outcome(first)).toBe('ended');
    expect(scheduling.arrival('a')).toBeUndefined();
    await clock.advance(199);
    expect(await outcome(other)).toBe('waits');
    await clock.advance(1);
    expect(await outcome(other)).toBe('ended');
    // The time of the second begins anew.
    const again = scheduling.arrival('b');
    expect(again).not.toBe(other);
    expect(await outcome(again)).toBe('waits');
    config.schedulerClientCaFile = '/ca.crt';
    expect(scheduling.arrival('c')).toBeUndefined();
  });

  test('wait from when they are seen without a node until they have one, or are gone', () => {
    const waiting = () => ['a', 'b'].filter((uid) => scheduling.isWaiting(uid));
    scheduling.podHandlers.onReplace([pod('a', {})]);
    scheduling.podHandlers.onUpsert(pod('b', {}));
    expect(waiting()).toEqual(['a', 'b']);
    scheduling.podHandlers.onUpsert(pod('a', { nodeName: 'n' }));
    scheduling.podHandlers.onDelete(pod('b', {}));
    expect(waiting()).toEqual([]);
    scheduling.podHandlers.onUpsert(pod('b', {}));
    scheduling.podHandlers.onReplace([]);
    expect(waiting()).toEqual([]);
  });
});

describe('the extender service', () => {
  const NODE = { name: 'n', labels: { [REGULAR]: 'true' }, annotations: {}, taints: [] } as unknown as ObservedNode;
  const evaluated = { ...snapshot(), readiness: new Map([['ws-daemon', { state: 'ready', reason: 'r', sinceMs: 0 }]]) };

  /** What is known of the one node `n`, on which four workspaces have room and all may start at once. */
  function started(change: object = {}) {
    const clock = new FakeClock();
    const known: { node: ObservedNode | undefined; isJudged: boolean } = { node: NODE, isJudged: true };
    const node = (name: string) => (name === 'n' ? known.node : undefined);
    const fleet = { node, nodeNames: () => ['n'] } as unknown as Fleet;
    const evaluator = { evaluate: () => (known.isJudged ? { evaluated } : undefined) } as unknown as Evaluator;
    const config = {
      ...{ scoreWeights: [], namespace: 'default', placing: WORKSPACES },
      ...{ maxWorkspacesPerNode: 4, maxStartingPerNode: 4, ...change },
    } as unknown as CoordinatorConfig;
    const scheduling = new Scheduling({ config, fleet, evaluator, services: () => [serviceOf()], clock });
    const filter = (id = 'ws-1') =>
      scheduling.extenderService.filter(workspacePod({ id, name: id }), ['n'])[0]?.rule ?? 'passed';
    return { scheduling, filter, known, clock };
  }

  const onNode = (name: string, node = 'n') =>
    observeWorkspacePod({
      metadata: { uid: name, namespace: 'default', name },
      spec: { nodeName: node },
      status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] },
    });
  const four = ['a', 'b', 'c', 'd'].map((name) => onNode(name));

  test('uses what is known of a node, once it is told that the node has changed', () => {
    const { scheduling, filter, known } = started();
    expect(filter()).toBe('passed');
    known.node = { ...NODE, labels: {} };
    expect(filter()).toBe('passed');
    scheduling.changed('n');
    expect(filter()).toBe('kind');
    known.isJudged = false;
    scheduling.changed('n');
    expect(filter()).toBe('unknown-node');
    known.node = undefined;
    known.isJudged = true;
    scheduling.changed('n');
    expect(filter()).toBe('unknown-node');
  });

  test('counts the pods that are seen on a node, and no longer those that are gone', () => {
    const { scheduling, filter } = started();
    expect(filter()).toBe('passed');
    scheduling.podHandlers.onReplace(four);
    expect(filter()).toBe('room');
    scheduling.podHandlers.onDelete(onNode('a'));
    expect(filter()).toBe('passed');
    scheduling.podHandlers.onUpsert(onNode('e'));
    expect(filter()).toBe('room');
    scheduling.podHandlers.onUpsert(onNode('e', 'other'));
    expect(filter()).toBe('passed');
  });

  test('remembers its answers about pods that are seen to wait, where clients are not authenticated', () => {
    const { scheduling, filter } = started();
    const ask = () => ['1', '2', '3', '4', '5'].map((id) => filter(id)).at(-1);
    expect(ask()).toBe('passed');
    for (const uid of ['1', '2', '3', '4', '5']) {
      scheduling.podHandlers.onUpsert(
        observeWorkspacePod({ metadata: { uid, namespace: 'default', name: uid }, spec: {}, status: {} }),
      );
    }
    expect(ask()).toBe('starting');
  });

  test('keeps in mind all that it answered where clients show who they are, until another term begins', () => {
    const { scheduling, filter } = started({ schedulerClientCaFile: '/ca.crt' });
    const ask = () => ['1', '2', '3', '4', '5'].map((id) => filter(id)).at(-1);
    expect(ask()).toBe('starting');
    scheduling.beginTerm();
    expect(filter('5')).toBe('passed');
  });

  const waits = (uid: string, status = {}) =>
    observeWorkspacePod({ metadata: { uid, namespace: 'default', name: uid }, spec: {}, status });

  test('hints kube-scheduler at a node that would take a pod that it refused, while a pod waits', () => {
    const { scheduling, filter } = started();
    scheduling.podHandlers.onReplace([...four, waits('5')]);
    expect(filter('5')).toBe('room');
    expect(scheduling.hintsDue()).toEqual([]);
    scheduling.podHandlers.onDelete(onNode('a'));
    expect(scheduling.hintsDue()).toEqual(['n']);
    expect(scheduling.hintsDue()).toEqual([]);
    scheduling.podHandlers.onUpsert(onNode('a'));
    expect(filter('5')).toBe('room');
    scheduling.podHandlers.onDelete(onNode('a'));
    scheduling.podHandlers.onDelete(waits('5'));
    expect(scheduling.hintsDue()).toEqual([]);
    scheduling.podHandlers.onUpsert(waits('6'));
    expect(scheduling.hintsDue()).toEqual([]);
  });

  test('hints, once agents have reported in a new term, at what an earlier leader may have refused', async () => {
    const { scheduling, clock } = started();
    const refused = { conditions: [{ type: 'PodScheduled', status: 'False' }] };
    scheduling.podHandlers.onReplace([waits('5', refused)]);
    scheduling.beginTerm();
    await clock.advance(14_999);
    expect(scheduling.hintsDue()).toEqual([]);
    await clock.advance(1);
    expect(scheduling.hintsDue()).toEqual(['n']);
    expect(scheduling.hintsDue()).toEqual([]);
    scheduling.podHandlers.onReplace([waits('6')]);
    scheduling.beginTerm();
    await clock.advance(15_000);
    expect(scheduling.hintsDue()).toEqual([]);
  });

  test('counts a pod where kube-scheduler says that it will be, also in a new term, until it is gone', () => {
    const { scheduling, filter } = started({ maxStartingPerNode: 1 });
    scheduling.podHandlers.onUpsert(waits('5', { nominatedNodeName: 'n' }));
    expect(filter('6')).toBe('starting');
    scheduling.beginTerm();
    expect(filter('6')).toBe('starting');
    scheduling.podHandlers.onReplace([]);
    expect(filter('6')).toBe('passed');
  });

  test('counts a pod as starting until it was Ready once, and asks as if victims were gone', () => {
    const { scheduling, filter } = started({ maxStartingPerNode: 1 });
    const metadata = { uid: 'a', namespace: 'default', name: 'a', creationTimestamp: new Date(2 ** 42).toISOString() };
    const seen = (status: string) =>
      observeWorkspacePod({ metadata, spec: { nodeName: 'n' }, status: { conditions: [{ type: 'Ready', status }] } });
    const { podHandlers } = scheduling;
    podHandlers.onReplace([seen('False')]);
    expect(filter()).toBe('starting');
    const preempt = (uid: string) => scheduling.extenderService.preempt(workspacePod(), [['n', new Set([uid])]]);
    expect([preempt('a'), preempt('b')]).toEqual([['n'], []]);
    podHandlers.onUpsert(seen('True'));
    podHandlers.onUpsert(seen('False'));
    expect(filter()).toBe('passed');
    podHandlers.onDelete(seen('False'));
    podHandlers.onUpsert(seen('False'));
    expect(filter()).toBe('starting');
    podHandlers.onReplace([seen('True')]);
    podHandlers.onReplace([seen('False')]);
    expect(filter()).toBe('passed');
  });

  test('explains itself to people by the pod as it is written', async () => {
    const { scheduling } = started();
    const { pod, nodes } = await new Slices().run(scheduling.explain(workspaceJson(), ['n', 'gone']));
    expect(pod).toMatchObject({ namespace: 'default', name: 'ws-1', workspace: 'regular' });
    expect(nodes.map(({ name, passes }) => [name, passes])).toEqual([
      ['n', true],
      ['gone', false],
    ]);
  });
});

describe('the extender', () => {
  let life: Lifecycle;
  beforeEach(() => {
    life = new Lifecycle(silentLogger());
  });
  afterEach(() => life.stop());

  /** An extender whose service refuses every node with this message. */
  async function opened(message: string, change: Partial<ExtenderOptions> = {}, config: object = {}) {
    const arrivals: string[] = [];
    const verdict = { rule: 'r', message };
    const answers = (_pod: unknown, names: readonly unknown[]) => names.map(() => verdict);
    const scheduling = {
      extenderService: {
        filter: answers,
        predicate: answers,
        prioritize: (_pod: unknown, names: readonly string[]) => names.map(() => 7),
      },
      arrival: (id: string) => void arrivals.push(id),
    } as unknown as Scheduling;
    const bound = await openExtender(
      {
        config: { placing: WORKSPACES, schedulerTls: 'off', ...config } as unknown as CoordinatorConfig,
        ownNamespace: 'rollcall',
        address: { host: '127.0.0.1', port: 0 },
        scheduling,
        leads: () => true,
        leaderUrl: () => undefined,
        certificates: undefined,
        clock: systemClock,
        logger: silentLogger(),
        registry: new Registry(),
        ...change,
      },
      life,
    );
    const question = { Pod: workspaceJson(), NodeNames: ['n'] };
    const asked = async (path: string) => {
      const { status, body } = await ask(bound?.port ?? 0, path, question);
      return { status, document: JSON.parse(body) };
    };
    return { bound, arrivals, asked };
  }

  test('asks the service, once the pod is seen', async () => {
    const { asked, arrivals } = await opened('me');
    for (const path of [FILTER, PREDICATES]) {
      expect((await asked(path)).document.FailedAndUnresolvableNodes).toEqual({ n: 'me' });
    }
    expect((await asked(PRIORITIZE)).document).toEqual([{ Host: 'n', Score: 7 }]);
    expect(arrivals).toEqual(['uid-1']);
  });

  test('asks the leader while another leads, and refuses where none is known', async () => {
    const leader = await opened('leader');
    const leaderUrl = () => `http://127.0.0.1:${leader.bound?.port}/`;
    const standby = await opened('standby', { leads: () => false, leaderUrl });
    expect((await standby.asked(FILTER)).document.FailedAndUnresolvableNodes).toEqual({ n: 'leader' });
    expect((await (await opened('me', { leaderUrl })).asked(FILTER)).document.FailedAndUnresolvableNodes).toEqual({
      n: 'me',
    });
    expect((await (await opened('alone', { leads: () => false })).asked(FILTER)).status).toBe(503);
  });

  test('speaks TLS where it is told to, also with the leader, which has the same certificate', async () => {
    const nowMs = systemClock.now();
    const authority = await createAuthority({ nowMs });
    const leaf = await issueLeaf(authority, { names: [coordinatorServerName('rollcall')], nowMs });
    const certificates = new CertificateHolder();
    certificates.set({ ...leaf, authority: authority.cert });
    const leader = await opened('leader', { certificates }, { schedulerTls: 'on' });
    await expect(leader.asked(FILTER)).rejects.toThrow();
    const leaderUrl = () => `https://127.0.0.1:${leader.bound?.port}/`;
    const standby = await opened('standby', { leads: () => false, leaderUrl, certificates });
    expect((await standby.asked(FILTER)).document.FailedAndUnresolvableNodes).toEqual({ n: 'leader' });
    const stranger = await opened('stranger', { leads: () => false, leaderUrl });
    expect((await stranger.asked(FILTER)).status).toBe(503);
  });

  test('lets in replicas, and of others only those that its CAs vouch for', async () => {
    const nowMs = systemClock.now();
    const [authority, clients] = await Promise.all([createAuthority({ nowMs }), createAuthority({ nowMs })]);
    const dir = await mkdtemp(join(tmpdir(), 'rollcall-client-cas-'));
    onTestFinished(() => rm(dir, { recursive: true }));
    const schedulerClientCaFile = join(dir, 'ca.crt');
    await writeFile(schedulerClientCaFile, clients.cert);
    const holding = async (signer: KeyPair) => {
      const leaf = await issueLeaf(signer, { names: [coordinatorServerName('rollcall')], nowMs });
      const certificates = new CertificateHolder();
      certificates.set({ ...leaf, authority: authority.cert });
      return certificates;
    };
    const own = await holding(authority);
    const leader = await opened('leader', { certificates: own }, { schedulerTls: 'on', schedulerClientCaFile });
    const leaderUrl = () => `https://127.0.0.1:${leader.bound?.port}/`;
    const statuses: number[] = [];
    for (const certificates of [own, await holding(clients), await holding(authority)]) {
      const client = await opened('client', { leads: () => false, leaderUrl, certificates });
      statuses.push((await client.asked(FILTER)).status);
    }
    expect(statuses).toEqual([200, 200, 503]);
  });

  test('is closed with the program', async () => {
    const { asked } = await opened('me');
    await life.stop();
    await expect(asked(FILTER)).rejects.toThrow('ECONNREFUSED');
  });

  test('does not open with a file of CAs that cannot be read', async () => {
    await expect(opened('me', {}, { schedulerClientCaFile: '/none' })).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
    });
  });
});
