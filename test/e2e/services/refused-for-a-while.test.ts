import { afterAll, beforeAll, expect, test } from 'vitest';
import { DEFAULT_SERVICE_PREFIXES } from '../../../deploy/source/manifests/settings.ts';
import { freePort } from '../../control-plane/ports.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { type EmbeddedRig, startEmbeddedRig } from '../../rig/embedded-rig.ts';
import type { SimulatedNode } from '../../rig/simulated-node.ts';
import { type StandIn, startStandIn } from '../../stand-ins/stand-in.ts';
import { applyNodeServiceCrd, conditionOf, NODE_SERVICES, nodeService } from './node-services.ts';

const PREFIXES = [...DEFAULT_SERVICE_PREFIXES, 'example.com/'];
const NOTE = 'rollcall.dev/services-started';
const GPU = 'nvidia.com/gpu.present';
const TIER = 'example.com/tier';

let embedded: EmbeddedRig;
let node: SimulatedNode;
let port: number;
let mirror: StandIn;

beforeAll(async () => {
  embedded = await startEmbeddedRig({
    prepare: applyNodeServiceCrd,
    fence: { servicePrefixes: PREFIXES },
    coordinatorArgs: [`--services-allowed-prefixes=${PREFIXES}`],
    nodes: 1,
  });
  port = await freePort();
  node = embedded.rig.node(0);
  mirror = await startStandIn('http-service', { host: node.address, port });
  await embedded.controlPlane.kubectl(['label', 'node', node.name, `${GPU}=true`, `${TIER}=gold`]);
});

afterAll(async () => {
  await mirror?.stop();
  await embedded?.stop();
});

type NodeView = {
  metadata: { labels: Record<string, string>; annotations?: Record<string, string> };
  spec: { taints?: { key: string }[] };
};

const checks = () => [{ name: 'port', http: { port, path: '/healthz' }, period: '200ms' }];
const view = async () => (await embedded.controlPlane.api.get(`/api/v1/nodes/${node.name}`)) as unknown as NodeView;
const create = (name: string, spec: object) =>
  embedded.controlPlane.api.post(NODE_SERVICES, nodeService(name, { checks: checks(), ...spec }));
const edit = (name: string, spec: object) => embedded.controlPlane.api.patch(`${NODE_SERVICES}/${name}`, { spec });
const remove = (name: string) => embedded.controlPlane.api.delete(`${NODE_SERVICES}/${name}`);
const accepted = (name: string) => conditionOf(embedded.controlPlane.api, name, 'Ready');
const soon = (what: string, isSo: () => Promise<boolean>) => waitFor(what, isSo, { timeoutMs: 30_000 });

test('a NodeService that is refused disables none that are older', async () => {
  const { rig } = embedded;
  const labelOf = (name: string) => `service.rollcall.dev/${name}`;
  await create('by-gpu', { nodeSelector: { matchLabels: { [GPU]: 'true' } } });
  await create('by-tier', { nodeSelector: { matchLabels: { [TIER]: 'gold' } } });
  for (const name of ['by-gpu', 'by-tier']) await rig.history.until(node.name, labelOf(name), 'true');
  const fromMs = performance.now();
  // Creation times have seconds.
  await waitFor('the next second', () => performance.now() - fromMs > 1000);
  await create('mistake', { publish: { label: GPU } });
  await soon('the refusal', async () => (await accepted('mistake')).startsWith('False PrefixNotAllowed'));
  await create('tier', { publish: { label: TIER } });
  await soon('the refusal', async () => (await accepted('tier')).startsWith('False LabelSelectsNodes'));
  for (const name of ['by-gpu', 'by-tier']) {
    expect(await accepted(name)).toMatch(/^True /);
    expect(rig.history.since(fromMs, labelOf(name))).toEqual([]);
  }
  for (const name of ['mistake', 'tier', 'by-gpu', 'by-tier']) await remove(name);
});

test('a NodeService of mode Startup that is refused for a while is not evaluated again', async () => {
  const { rig } = embedded;
  const label = 'example.com/starting';
  const taint = { key: 'readiness.k8s.io/starting', value: '', effect: 'NoSchedule' };
  const publish = { label, taint };
  await create('starting', { mode: 'Startup', publish });
  await rig.history.until(node.name, label, 'true');
  const note = async () => (await view()).metadata.annotations?.[NOTE];
  await soon('the note', async () => (await note()) !== undefined);
  const before = await note();
  await mirror.kill('SIGKILL');

  await edit('starting', { publish: { label: 'example.org/starting' } });
  await rig.history.until(node.name, label, undefined);
  await soon('the refusal', async () => (await accepted('starting')).startsWith('False PrefixNotAllowed'));
  await create('other', { publish: { label: 'example.com/other' }, nodeSelector: { matchLabels: { none: 'true' } } });
  await soon('a later change to be taken in', async () => (await accepted('other')).startsWith('True'));
  expect(await note()).toBe(before);

  await edit('starting', { publish });
  await rig.history.until(node.name, label, 'true');
  expect((await view()).spec.taints?.some(({ key }) => key === taint.key) === true).toBe(false);

  await remove('starting');
  await soon('the end of the note', async () => (await note()) === undefined);
});
