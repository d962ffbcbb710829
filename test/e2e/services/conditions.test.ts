import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { DEFAULT_SERVICE_PREFIXES } from '../../../deploy/source/manifests/settings.ts';
import type { KubeObject } from '../../control-plane/api-client.ts';
import { freePort } from '../../control-plane/ports.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { type EmbeddedRig, startEmbeddedRig } from '../../rig/embedded-rig.ts';
import type { Rig } from '../../rig/rig.ts';
import { type StandIn, startStandIn } from '../../stand-ins/stand-in.ts';
import { ConditionHistory } from './condition-history.ts';
import { applyNodeServiceCrd, conditionOf, NODE_SERVICES, nodeService } from './node-services.ts';

const CLOCK_SPEED = 4;
const STALE_AFTER_SECONDS = 12;
const PREFIXES = [...DEFAULT_SERVICE_PREFIXES, 'example.com/'];
const MIRROR = 'example.com/MirrorReady';
const OTHER = 'example.com/OtherReady';
const LABEL = 'example.com/mirror';
const TAINT = 'readiness.k8s.io/mirror';
const KEYS = 'rollcall.dev/keys';

let embedded: EmbeddedRig;
let rig: Rig;
let history: ConditionHistory;
let port: number;
const mirrors = new Map<string, StandIn>();

beforeAll(async () => {
  embedded = await startEmbeddedRig({
    prepare: applyNodeServiceCrd,
    fence: { servicePrefixes: PREFIXES },
    coordinators: 2,
    coordinatorArgs: [
      `--services-allowed-prefixes=${PREFIXES}`,
      '--gitpod=false',
      `--stale-after-seconds=${STALE_AFTER_SECONDS}`,
    ],
    nodes: 4,
    clockSpeed: CLOCK_SPEED,
  });
  rig = embedded.rig;
  history = new ConditionHistory(embedded.controlPlane.api);
  port = await freePort();
  await Promise.all(rig.nodes.map(({ name }) => startMirror(name)));
});
afterAll(async () => {
  history?.stop();
  await Promise.all([...mirrors.values()].map((mirror) => mirror.stop()));
  await embedded?.stop();
});

const nodeName = (index = 0) => rig.node(index).name;

async function startMirror(node: string): Promise<void> {
  const host = rig.nodes.find(({ name }) => name === node)?.address ?? '';
  mirrors.set(node, await startStandIn('http-service', { host, port }));
}

const killMirror = (node: string) => mirrors.get(node)?.kill('SIGKILL');
const checks = () => [{ name: 'port', http: { port, path: '/healthz' }, period: `${200 * CLOCK_SPEED}ms` }];
const create = (name: string, spec: object) =>
  embedded.controlPlane.api.post(NODE_SERVICES, nodeService(name, { checks: checks(), ...spec }));
const remove = (name: string) => embedded.controlPlane.api.delete(`${NODE_SERVICES}/${name}`);
const everywhere = (type: string, status: string | undefined) =>
  Promise.all(rig.nodes.map(({ name }) => history.until(name, type, status)));

type NodeView = KubeObject & {
  spec: { taints?: { key: string }[] };
  status: { conditions: { type: string; status: string }[] };
};
const view = (node = nodeName()) => embedded.controlPlane.api.get<NodeView>(`/api/v1/nodes/${node}`);
/** The conditions that a Node lists. */
const listed = async (node = nodeName(), kind = 'condition') =>
  Object.keys(JSON.parse((await view(node)).metadata.annotations?.[KEYS] ?? '{}') as object)
    .filter((id) => id.startsWith(`${kind}:`))
    .map((id) => id.slice(kind.length + 1));

/** Writes to Nodes and their status that the API server has counted. */
async function patches(): Promise<number> {
  const counts = ['PATCH', 'APPLY'].flatMap((verb) =>
    ['', 'status'].map((subresource) => embedded.controlPlane.requestTotals({ verb, resource: 'nodes', subresource })),
  );
  return (await Promise.all(counts)).reduce((sum, each) => sum + each, 0);
}

/** Applies conditions as another field manager. */
function applyAs(manager: string, conditions: object[], { force = false, name = nodeName() } = {}): Promise<unknown> {
  return embedded.controlPlane.api.patch(
    `/api/v1/nodes/${name}/status?fieldManager=${manager}&force=${force}`,
    { apiVersion: 'v1', kind: 'Node', metadata: { name }, status: { conditions } },
    'application/apply-patch+yaml',
  );
}

/** What the leader's console says of a condition. */
async function explained(type: string, node = nodeName()) {
  const { keys } = await (await rig.leader()).explain(node);
  return keys.find((each) => each.kind === 'condition' && each.key === type);
}

describe('the condition of a service', () => {
  test('is True where it is ready, and False at once where it is killed, as label and taint are', async () => {
    await create('mirror', {
      publish: { label: LABEL, taint: { key: TAINT, effect: 'NoSchedule' }, condition: MIRROR },
    });
    await everywhere(MIRROR, 'True');
    const ready = history.of(nodeName(), MIRROR);
    expect(ready).toMatchObject({ reason: 'ServiceReady', message: expect.stringMatching(/^mirror is ready: /) });
    expect(await listed()).toEqual([MIRROR]);
    expect(await listed(nodeName(), 'label')).toEqual([LABEL]);
    await rig.history.until(nodeName(), LABEL, 'true');

    const killedMs = performance.now();
    await killMirror(nodeName());
    await history.until(nodeName(), MIRROR, 'False');
    await rig.history.until(nodeName(), LABEL, undefined);
    await waitFor('the taint', async () => (await view()).spec.taints?.some(({ key }) => key === TAINT));
    const [change, ...more] = history.since(killedMs, MIRROR);
    expect(more).toEqual([]);
    expect((change?.atMs ?? Number.POSITIVE_INFINITY) - killedMs).toBeLessThan(2000);
    expect(change?.to).toMatchObject({
      reason: 'ServiceNotReady',
      message: expect.stringMatching(/^mirror is not ready: .*ECONNREFUSED/),
    });
    expect(Date.parse(change?.to?.lastTransitionTime ?? '')).toBeGreaterThanOrEqual(
      Date.parse(ready?.lastTransitionTime ?? ''),
    );
    expect(await explained(MIRROR)).toMatchObject({
      stance: 'present',
      value: 'False',
      onNode: 'False',
      service: 'mirror',
      reason: expect.stringContaining('ECONNREFUSED'),
    });
    await startMirror(nodeName());
    await everywhere(MIRROR, 'True');
    await waitFor('the end of the taint', async () => !(await view()).spec.taints?.length);
  });

  test('is written no more while nothing changes, and not by a new leader', async () => {
    await waitFor('rest', async () => (await listed(nodeName(), 'taint')).length === 0);
    const before = await patches();
    const fromMs = performance.now();
    const old = await rig.leader();
    const { api } = embedded.controlPlane;
    for (const lastHeartbeatTime of ['2026-01-01T00:00:00Z', '2026-01-01T00:00:10Z']) {
      // Writes as a kubelet does.
      await api.patch(
        `/api/v1/nodes/${nodeName()}/status?fieldManager=kubelet`,
        { status: { conditions: [{ type: 'Ready', status: 'True', lastHeartbeatTime }] } },
        'application/strategic-merge-patch+json',
      );
    }
    await rig.endCoordinator(old, 'SIGTERM');
    const leader = await rig.leader();
    const heard = async () => (await leader.metric('rollcall_coordinator_reports_total')) >= 3 * rig.nodes.length;
    await waitFor('three reports of each agent', heard, { timeoutMs: 60_000 });
    await rig.addCoordinator();
    expect(history.since(fromMs, MIRROR)).toEqual([]);
    // Our own two heartbeats.
    expect((await patches()) - before).toBe(2);
  });

  test('is Unknown when its agent was silent for long enough, and not before', async () => {
    const fromMs = performance.now();
    await rig.node(0).agent?.kill('SIGSTOP');
    await history.until(nodeName(), MIRROR, 'Unknown');
    const [change] = history.since(fromMs, MIRROR);
    // Its last report came at most one heartbeat (a third of the window) before it was stopped.
    expect((change?.atMs ?? 0) - fromMs).toBeGreaterThan((STALE_AFTER_SECONDS * 1000 * 2) / 3 / CLOCK_SPEED - 500);
    expect(change?.to).toMatchObject({
      reason: 'AgentSilent',
      message: expect.stringContaining('silent for too long'),
    });
    await rig.node(0).agent?.kill('SIGCONT');
    await history.until(nodeName(), MIRROR, 'True');
    expect(history.since(fromMs, MIRROR).filter(({ node }) => node !== nodeName())).toEqual([]);
  });

  test('stays as it is when most agents fall silent', async () => {
    const fromMs = performance.now();
    await Promise.all(rig.nodes.map((node) => node.agent?.kill('SIGSTOP')));
    const leader = await rig.leader();
    const silent = async () => (await leader.metric('rollcall_coordinator_nodes', { state: 'silent' })) === 4;
    await waitFor('all nodes to be silent', silent, { timeoutMs: 60_000 });
    expect(await explained(MIRROR)).toMatchObject({ stance: 'keep', reason: expect.stringContaining('guard') });
    await Promise.all(rig.nodes.map((node) => node.agent?.kill('SIGCONT')));
    await waitFor('all nodes to be heard', async () => !(await silent()), { timeoutMs: 60_000 });
    expect(history.since(fromMs, MIRROR)).toEqual([]);
  });

  test('leaves every node with its service, and those that are no longer selected', async () => {
    await create('other', { nodeSelector: { matchLabels: { tier: 'gold' } }, publish: { condition: OTHER } });
    await embedded.controlPlane.kubectl(['label', 'node', nodeName(1), nodeName(2), 'tier=gold']);
    await history.until(nodeName(1), OTHER, 'True');
    await history.until(nodeName(2), OTHER, 'True');
    await embedded.controlPlane.kubectl(['label', 'node', nodeName(1), 'tier-']);
    await history.until(nodeName(1), OTHER, undefined);
    await remove('other');
    await history.until(nodeName(2), OTHER, undefined);
    await waitFor('it to be listed no more', async () => String(await listed(nodeName(2))) === MIRROR);
    expect(history.of(nodeName(1), MIRROR)?.status).toBe('True');
  });
});

describe('a condition that another field manager owns', () => {
  test('is left to them, and the others are not; they are named', async () => {
    await applyAs('rival', [{ type: OTHER, status: 'False', reason: 'Theirs', message: 'not yours' }]);
    await create('other', { publish: { condition: OTHER } });
    await history.until(nodeName(1), OTHER, 'True');
    await waitFor('the rival to be named', async () => (await explained(OTHER))?.skipped?.cause === 'foreign');
    expect((await explained(OTHER))?.skipped?.message).toBe('owned by rival');
    expect(history.of(nodeName(), OTHER)).toMatchObject({ status: 'False', message: 'not yours' });
    await waitFor('the Event', async () => {
      const events = await embedded.controlPlane.api.list<KubeObject & { note?: string; message?: string }>(
        '/api/v1/namespaces/default/events',
      );
      return events.some(({ message }) =>
        message?.includes(`rollcall does not write the condition ${OTHER}: it is owned by rival`),
      );
    });
    await killMirror(nodeName());
    await history.until(nodeName(), MIRROR, 'False');
    await startMirror(nodeName());
    await history.until(nodeName(), MIRROR, 'True');
    expect(history.of(nodeName(), OTHER)?.message).toBe('not yours');
  });

  test('is ours as soon as they let go of it', async () => {
    await applyAs('rival', []);
    await history.until(nodeName(), OTHER, 'True');
    expect(await listed()).toEqual([MIRROR, OTHER]);
  });

  test('and take over by force is theirs, until they let go of it', async () => {
    const fromMs = performance.now();
    await applyAs('rival', [{ type: OTHER, status: 'Unknown', reason: 'Taken' }], { force: true });
    await waitFor('it to be left alone', async () => (await explained(OTHER))?.skipped?.cause === 'foreign');
    await applyAs('rival', []);
    await history.until(nodeName(), OTHER, 'True');
    expect(history.since(fromMs, MIRROR)).toEqual([]);
  });

  test('no more than that they changed a field of it is put right', async () => {
    const { api } = embedded.controlPlane;
    const fromMs = performance.now();
    await api.patch(
      `/api/v1/nodes/${nodeName()}/status?fieldManager=kubectl-patch`,
      { status: { conditions: [{ type: OTHER, status: 'False' }] } },
      'application/strategic-merge-patch+json',
    );
    await waitFor('it to be put right', () => history.since(fromMs, OTHER, nodeName()).length >= 2);
    expect(history.since(fromMs, OTHER, nodeName()).map(({ to }) => to?.status)).toEqual(['False', 'True']);
  });
});

describe('when its service is gone, a condition goes', () => {
  const eraseOwners = () =>
    embedded.controlPlane.api.patch(`/api/v1/nodes/${nodeName()}`, { metadata: { managedFields: [{}] } });

  test('although managedFields tell nothing of it', async () => {
    await eraseOwners();
    await remove('other');
    await everywhere(OTHER, undefined);
    await waitFor('it to be listed no more', async () => String(await listed()) === MIRROR);
  });

  test('and is still written when they tell nothing', async () => {
    await eraseOwners();
    await killMirror(nodeName());
    await history.until(nodeName(), MIRROR, 'False');
    await startMirror(nodeName());
    await history.until(nodeName(), MIRROR, 'True');
  });

  test('or is given up to a rival who has it as well, and is ours again when they let go of it', async () => {
    const name = nodeName(3);
    const now = history.of(name, MIRROR);
    await applyAs('rival', [{ type: MIRROR, status: now?.status ?? '' }], { name });
    const owners = async () => {
      const fields = (await view(name)).metadata['managedFields'] as { manager: string; subresource?: string }[];
      return fields.filter(({ subresource }) => subresource === 'status').map(({ manager }) => manager);
    };
    await waitFor('it to be given up', async () => !(await owners()).includes('rollcall'));
    expect(history.of(name, MIRROR)).toEqual(now);
    await applyAs('rival', [{ type: MIRROR, status: 'Unknown' }], { name });
    await history.until(name, MIRROR, 'Unknown');
    await applyAs('rival', [], { name });
    await history.until(name, MIRROR, 'True');
  });

  test('also while no coordinator runs, and what is left of it by a rival', async () => {
    await Promise.all([...rig.coordinators].map((each) => rig.endCoordinator(each, 'SIGTERM')));
    await applyAs('rival', [{ type: MIRROR, status: 'False' }], { force: true });
    await applyAs('rival', []);
    await history.until(nodeName(), MIRROR, '');
    await embedded.controlPlane.api.patch(`/api/v1/nodes/${nodeName(1)}`, { metadata: { managedFields: [{}] } });
    await remove('mirror');
    await rig.addCoordinator();
    await everywhere(MIRROR, undefined);
    await waitFor(
      'nothing to be listed',
      async () => {
        const lists = await Promise.all(rig.nodes.map(({ name }) => listed(name)));
        return lists.every((each) => Object.keys(each).length === 0);
      },
      { timeoutMs: 30_000 },
    );
    expect((await view()).status.conditions.map(({ type }) => type)).toEqual(['Ready']);
  });
});

test('a dry run says which conditions it would write, and writes none', async () => {
  const { api } = embedded.controlPlane;
  await rig.endCoordinator(await rig.leader(), 'SIGTERM');
  const dry = await rig.addCoordinator(['--dry-run']);
  await create('mirror', { publish: { condition: MIRROR } });
  await waitFor(
    'the plan',
    async () => {
      const { pending } = (await dry.console<{ pending?: { conditions?: object } }>(`/v1/nodes/${nodeName()}`)) ?? {};
      return pending?.conditions;
    },
    { timeoutMs: 30_000 },
  );
  expect((await view()).status.conditions.map(({ type }) => type)).toEqual(['Ready']);
  await rig.endCoordinator(dry, 'SIGTERM');
  await rig.addCoordinator();
  await everywhere(MIRROR, 'True');
  await expect.poll(() => conditionOf(api, 'mirror', 'Ready')).toMatch(/^True/);
});

test('--prune leaves none', async () => {
  await rig.prune();
  await everywhere(MIRROR, undefined);
  expect(await listed()).toEqual([]);
});
