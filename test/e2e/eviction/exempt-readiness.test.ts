import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { DEFAULT_SERVICE_PREFIXES, DEFAULT_SETTINGS } from '../../../deploy/source/manifests/settings.ts';
import { createPod } from '../../control-plane/cluster.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { type EmbeddedCluster, embeddedCluster } from '../../rig/cluster.ts';
import { WS_DAEMON_READY } from '../../rig/embedded-rig.ts';
import { Rig } from '../../rig/rig.ts';
import { applyNodeServiceCrd, conditionOf, NODE_SERVICES, nodeService } from '../services/node-services.ts';

// With --evict and without --evict-readiness, no pod is evicted for a readiness label, whatever removes the label.

const CONTROL = 'example.org/control';
const DERIVED = 'example.org/derived';
const labelOf = (service: string) => `service.rollcall.dev/${service}`;

let cluster: EmbeddedCluster;
let rules: string;
let rig: Rig;
let node: string;

beforeAll(async () => {
  cluster = await embeddedCluster({ labelPrefixes: [...DEFAULT_SETTINGS.labelPrefixes, 'example.org/'] });
  await applyNodeServiceCrd(cluster.controlPlane);
  rules = await mkdtemp(path.join(tmpdir(), 'rollcall-label-dir-'));
  await mkdir(path.join(rules, 'example.org'));
  for (const [label, line] of [
    [CONTROL, 'control'],
    [DERIVED, labelOf('base')],
  ] as const) {
    await writeFile(path.join(rules, label), `${line}\n`);
  }
  const prefixes = `--services-allowed-prefixes=${DEFAULT_SERVICE_PREFIXES}`;
  const coordinatorArgs = [`--label-dir=${rules}`, prefixes, '--evict', '--eviction-delay-seconds=1'];
  rig = await Rig.start({ cluster, nodes: 1, coordinatorArgs });
  node = rig.node(0).name;
  await createPod(cluster.api, {
    ...{ namespace: 'default', name: 'cache', nodeName: node, ready: true },
    labels: { app: 'cache' },
  });
  await rig.allReady();
});
afterAll(async () => {
  await rig?.stop();
  await cluster?.stop();
  if (rules) await rm(rules, { recursive: true });
});

/** Puts a pod on the node that requires a label, and waits for the label. Returns whether the pod was evicted. */
async function podFor(name: string, label: string): Promise<() => Promise<boolean>> {
  await rig.history.until(node, label, 'true');
  const spec = { nodeSelector: { [label]: 'true' } };
  await createPod(cluster.api, { namespace: 'default', name, nodeName: node, ready: true, spec });
  return () =>
    cluster.api.get(`/api/v1/namespaces/default/pods/${name}`).then(
      ({ metadata }) => (metadata as { deletionTimestamp?: string }).deletionTimestamp !== undefined,
      () => true,
    );
}

let controls = 0;

/** Removes labels, and after that one for which a pod is evicted. Returns which of the pods were evicted by then. */
async function evictedBy(
  pods: Readonly<Record<string, string>>,
  act: () => Promise<unknown>,
): Promise<Record<string, boolean>> {
  await cluster.controlPlane.kubectl(['label', 'node', node, 'control=1']);
  controls += 1;
  const isControlEvicted = await podFor(`control-${controls}`, CONTROL);
  const asked = await Promise.all(
    Object.entries(pods).map(async ([name, label]) => [name, label, await podFor(name, label)] as const),
  );
  await act();
  for (const [, label] of asked) await rig.history.until(node, label, undefined);
  await cluster.controlPlane.kubectl(['label', 'node', node, 'control-']);
  await waitFor('the pod for another label to be evicted', isControlEvicted, { timeoutMs: 30_000 });
  const evicted = asked.map(async ([name, , isEvicted]) => [name, await isEvicted()] as const);
  return Object.fromEntries(await Promise.all(evicted));
}

async function restart(...args: string[]): Promise<void> {
  for (const each of [...rig.coordinators]) await rig.endCoordinator(each, 'SIGTERM');
  await rig.addCoordinator(args);
  await rig.leader();
}

test('a NodeService that is deleted, edited or refused evicts no pod, nor does what a rule builds on it', async () => {
  const { api } = cluster;
  const pods = { namespace: 'default', selector: { matchLabels: { app: 'cache' } } };
  const services = ['deleted', 'edited', 'refused', 'base'];
  for (const name of services) await api.post(NODE_SERVICES, nodeService(name, { checks: [{ name: 'pod', pods }] }));
  const asks = Object.fromEntries([...services.map((name) => [name, labelOf(name)]), ['derived', DERIVED]]);
  const evicted = await evictedBy(asks, async () => {
    const publish = (label: string) => ({ spec: { publish: { label } } });
    await api.patch(`${NODE_SERVICES}/edited`, publish(labelOf('other')));
    await api.patch(`${NODE_SERVICES}/refused`, publish('example.com/refused'));
    for (const name of ['deleted', 'base']) await api.delete(`${NODE_SERVICES}/${name}`);
    await waitFor('the refusal', async () => (await conditionOf(api, 'refused', 'Ready')).startsWith('False'));
  });
  expect(evicted).toEqual({ deleted: false, edited: false, refused: false, base: false, derived: false });
});

test.each(['--gitpod=false', '--namespace=elsewhere'])('a start with %s evicts no pod', async (flag) => {
  const name = flag.replace(/\W+/g, '-').slice(1);
  expect(await evictedBy({ [name]: WS_DAEMON_READY }, () => restart(flag))).toEqual({ [name]: false });
  await restart();
  await rig.allReady();
});
