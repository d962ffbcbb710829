import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { DiffDocument } from '@rollcall/common/console.ts';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { DEFAULT_SERVICE_PREFIXES } from '../../../deploy/source/manifests/settings.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { type EmbeddedRig, startEmbeddedRig } from '../../rig/embedded-rig.ts';
import { runPlugin } from '../../rig/run-plugin.ts';
import type { SimulatedNode } from '../../rig/simulated-node.ts';
import { applyNodeServiceCrd, conditionOf, NODE_SERVICES, nodeService } from './node-services.ts';

vi.setConfig({ testTimeout: 90_000 });

const PREFIXES = [...DEFAULT_SERVICE_PREFIXES, 'example.com/'];
const KERNEL = 'example.com/Kernel';
const WELL = 'service.rollcall.dev/well';

let embedded: EmbeddedRig;
let node: SimulatedNode;
let dir: string;

beforeAll(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'rollcall-bad-checks-'));
  embedded = await startEmbeddedRig({
    fence: { servicePrefixes: PREFIXES },
    coordinatorArgs: [`--services-allowed-prefixes=${PREFIXES}`, '--gitpod=false', '--stale-after-seconds=12'],
    // An address that is not of this machine, as an agent in the pod network has it.
    agentArgs: ['--host-ip=198.51.100.1'],
    nodes: 1,
    clockSpeed: 4,
  });
  node = embedded.rig.node(0);
  await applyNodeServiceCrd(embedded.controlPlane);
});

afterAll(async () => {
  await embedded?.stop();
  await rm(dir, { recursive: true, force: true });
});

type Spec = { checks: object[]; publish?: object; nodeSelector?: object };

const checking = (check: object): Spec => ({ checks: [{ name: 'check', ...check }] });
const condition = (type: string, more: object = {}) => checking({ condition: { type, ...more } });
const create = (name: string, spec: object) => embedded.controlPlane.api.post(NODE_SERVICES, nodeService(name, spec));
const remove = (name: string) => embedded.controlPlane.api.delete(`${NODE_SERVICES}/${name}`);
const statusIs = (name: string, type: 'Ready' | 'NodesReady', said: RegExp) =>
  waitFor(
    `${type} of ${name} to be ${said}`,
    async () => said.test(await conditionOf(embedded.controlPlane.api, name, type)),
    {
      timeoutMs: 30_000,
    },
  );

type Explained = { state: string; reason: string; checks?: { name: string; state: string; reason: string }[] };

async function explained(name: string): Promise<Explained | undefined> {
  const { services } = await (await embedded.rig.leader()).explain(node.name);
  return services.find((service) => service.name === name) as Explained | undefined;
}

/** What diff answers before the object exists. */
async function diff(name: string, spec: object): Promise<Pick<DiffDocument, 'problems' | 'notes' | 'nodes'>> {
  const file = path.join(dir, `${name}.json`);
  await writeFile(file, JSON.stringify(nodeService(name, spec)));
  const { consoleUrl } = await embedded.rig.leader();
  const admin = `--kubeconfig=${embedded.controlPlane.kubeconfig}`;
  const { stdout, stderr } = await runPlugin(['diff', '-f', file, '-o', 'json', admin, `--console-url=${consoleUrl}`]);
  if (stdout === '') throw new Error(stderr);
  return JSON.parse(stdout);
}

test('while only metadata of Nodes is watched, diff says what it cannot know', async () => {
  const cases: [object, string][] = [
    [{ condition: { type: KERNEL } }, 'the conditions of the node are not known yet'],
    [{ resource: { name: 'example.com/gpu' } }, 'how much of example.com/gpu the node has is unknown'],
    [{ dra: { driver: 'gpu.example.com' } }, 'the ResourceSlices have not been listed yet'],
    [{ dns: {} }, 'the agent has not checked new/check as it is now'],
    [{ kubernetesService: {} }, 'the agent has not checked new/check as it is now'],
    [{ file: { path: '/run/a', expectedFirstLine: 'ok' } }, 'the agent has not checked new/check as it is now'],
    [{ anyOf: [{ name: 'a', dns: {} }] }, 'the agent has not checked new/check/a as it is now'],
  ];
  for (const [check, reason] of cases) {
    const { problems, notes, nodes } = await diff('new', checking(check));
    expect({ problems, nodes }).toEqual({ problems: [], nodes: [] });
    expect(notes).toEqual([expect.stringMatching(/^Whether new would be ready on 1 of 1 nodes is not known yet/)]);
    expect(notes[0]).toContain(reason);
  }
});

test('a service that is well is ready all the time that others are not', async () => {
  const now = new Date().toISOString().replace(/\.\d+Z$/, 'Z');
  await embedded.controlPlane.api.patch(
    `/api/v1/nodes/${node.name}/status?fieldManager=monitor`,
    { status: { conditions: [{ type: KERNEL, status: 'True', reason: 'Seen', lastTransitionTime: now }] } },
    'application/strategic-merge-patch+json',
  );
  await create('well', condition(KERNEL));
  await embedded.rig.history.until(node.name, WELL, 'true');
});

describe('a check that can never pass says why on the node, and the status counts the node', () => {
  const nowhere = { matchLabels: { app: 'nowhere' } };
  test.each<[string, object, 'not-ready' | 'unknown', RegExp]>([
    [
      'a reporter whose selector matches nothing',
      { condition: { type: KERNEL, reporter: { namespace: 'default', selector: nowhere } } },
      'not-ready',
      /^nothing vouches for the condition example\.com\/Kernel: no pod of its reporter is on the node$/,
    ],
    [
      'a reporter in a namespace that does not exist',
      { condition: { type: KERNEL, reporter: { namespace: 'nowhere', selector: nowhere } } },
      'not-ready',
      /no pod of its reporter is on the node$/,
    ],
    [
      'a condition that no component writes and must be there',
      { condition: { type: 'example.com/None', missing: 'Fail' } },
      'not-ready',
      /^the node has no condition example\.com\/None$/,
    ],
    [
      'a DRA driver that does not exist',
      { dra: { driver: 'none.example.com' } },
      'not-ready',
      /^none\.example\.com >= 1 is required, but /,
    ],
    [
      'a resource that no node has',
      { resource: { name: 'example.com/none' } },
      'not-ready',
      /^example\.com\/none >= 1 is required, but /,
    ],
    [
      'a name that does not resolve',
      { dns: { name: 'none.invalid' }, period: '800ms', failureThreshold: 1 },
      'not-ready',
      /none\.invalid/,
    ],
    [
      'the Service of an API server that the agent does not know',
      { kubernetesService: {} },
      'not-ready',
      /KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set/,
    ],
  ])('%s', async (_what, check, state, reason) => {
    await create('bad', checking(check));
    onTestFinished(async () => void (await remove('bad')));
    await statusIs('bad', 'Ready', /^True InForce/);
    const isSo = async () => {
      const found = await explained('bad');
      return found?.state === state && reason.test(found.reason) ? found : undefined;
    };
    const { reason: said, checks } = await waitFor('the verdict', isSo, { timeoutMs: 60_000 });
    expect(checks).toEqual([expect.objectContaining({ name: 'check', state, reason: said })]);
    const told = state === 'unknown' ? /^Unknown NodesUnknown: / : /^False NodesNotReady: /;
    await statusIs('bad', 'NodesReady', told);
  });
});

test('a condition that no component writes is unknown, and so is the service', async () => {
  await create('none', condition('example.com/None'));
  await statusIs('none', 'NodesReady', /^Unknown NodesUnknown/);
  expect(await explained('none')).toMatchObject({
    state: 'unknown',
    reason: 'the node has no condition example.com/None',
  });
  await remove('none');
});

describe('a circle of conditions is refused in the status, and by diff', () => {
  const OWN = 'example.com/Own';
  const publishing = (spec: Spec, type: string): Spec => ({ ...spec, publish: { condition: type } });
  const refused = async (name: string, spec: Spec, said: RegExp) => {
    const { problems } = await diff(name, spec);
    expect(problems).toEqual([expect.stringMatching(said)]);
    await create(name, spec);
    await statusIs(name, 'Ready', said);
    await statusIs(name, 'NodesReady', /^Unknown NotInForce/);
    await remove(name);
  };

  test('of a service with itself', () =>
    refused(
      'self',
      publishing(condition(OWN), OWN),
      /ChecksOwnCondition.*The check check asks for .*Own, which the NodeService self/,
    ));

  test('of a service that checks what an older one publishes, or publishes what an older one checks', async () => {
    // Of two that were created within one second, the one that comes first by name is older.
    await create('an-older', publishing(condition(KERNEL), OWN));
    await statusIs('an-older', 'Ready', /^True/);
    await refused('checks', condition(OWN), /ChecksOwnCondition.*which the NodeService an-older publishes/);
    const contained = { checks: [{ name: 'any', anyOf: condition(OWN).checks }] };
    await refused('contains', contained, /ChecksOwnCondition.*which the NodeService an-older publishes/);
    await refused(
      'publishes',
      publishing(condition('example.com/Other'), KERNEL),
      /ConditionChecked.*, which is older, checks/,
    );
    await statusIs('an-older', 'Ready', /^True/);
    await remove('an-older');
  });
});

describe('diff refuses what the API server refuses', () => {
  const dns = { dns: {} };
  const many = (count: number) => Array.from({ length: count }, (_, index) => ({ name: `c${index}`, ...dns }));
  test.each<[string, object, RegExp, RegExp]>([
    ['17 checks', { checks: many(17) }, /Too many: 17/, /InvalidChecks.*17 checks, and may have 16/],
    [
      'two checks of one name',
      { checks: [...many(1), ...many(1)] },
      /Duplicate value/,
      /InvalidChecks.*Several checks have the name c0/,
    ],
    ['no checks', { checks: [] }, /at least 1 items/, /InvalidChecks.*empty/],
    ['a check of an unknown kind', checking({ quic: {} }), /exactly one kind/, /UnknownField.*spec\.checks\[0\]\.quic/],
    [
      'a check of two kinds',
      checking({ ...dns, kubernetesService: {} }),
      /exactly one kind/,
      /UnknownField.*spec\.checks\[0\]/,
    ],
    [
      'a condition of the kubelet',
      condition('Ready'),
      /the kubelet and networks write this condition/,
      /KubeletCondition.*asks for Ready/,
    ],
  ])('%s', async (_what, spec, refusal, problem) => {
    await expect(create('bad', spec)).rejects.toThrow(refusal);
    expect((await diff('bad', spec)).problems).toEqual([
      expect.stringMatching(problem),
      expect.stringMatching(/^NodeService bad would be refused by the API server: /),
    ]);
  });
});

test('none of it disturbed the service that is well, and nothing is left', async () => {
  expect(embedded.rig.history.since(0, WELL).map(({ to }) => to)).toEqual(['true']);
  await waitFor('no other label', async () => {
    const labels = Object.keys(embedded.rig.history.labels(node.name));
    return labels.filter((key) => key.startsWith('service.rollcall.dev/')).join() === WELL;
  });
});
