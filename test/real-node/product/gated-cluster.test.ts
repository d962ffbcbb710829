import { MANAGED_LABELS_ANNOTATION, STARTUP_TAINT } from '@rollcall/common/well-known.ts';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { imageCacheDir } from '../../../deploy/image/cached-input.ts';
import { reasonToSkip } from '../../../deploy/image/missing-input.test-fixtures.ts';
import { renderChart } from '../../chart/render.ts';
import type { KubeObject } from '../../control-plane/api-client.ts';
import type { NodeObject } from '../../control-plane/cluster.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import type { RealNode } from '../node.ts';
import { describeOnRealNodes } from '../on-real-nodes.ts';
import { readyLabels } from './gitpod-pods.ts';
import { namespace, type Product, poolLabelSet, poolLabelSets, secondsSince, soon, startProduct } from './product.ts';
import { registry } from './product-image.ts';

const tag = '0.1.0';
const pool = 'pool1';
const labels = { 'example.com/tier': 'gold', team: 'a' };
/** What the kubelets register with; NodeRestriction lets them. */
const registered = { agentpool: pool, 'rollcall.dev/startup-gate': 'true' };
const coral = { port: '1-1', vendor: '1a6e', device: '089a', interfaces: [{ class: 'fe' }] };
const coralLabel = 'accelerators/edgetpu';
const values = {
  gitpod: { enabled: true },
  image: { registry, tag },
  // A container's own /sys is a new sysfs, in which the device that the test makes is not.
  agent: { deviceTree: true, hostNetwork: true },
  coordinator: { config: { startupGateRequires: readyLabels } },
  policies: { poolLabels: { enabled: true }, startupTaint: { enabled: true } },
};

describeOnRealNodes('the product, in a cluster in which every node is gated from its first minute,', () => {
  let product: Product;
  let names: string[];
  let installedMs: number;
  let missing: string | undefined;

  beforeAll(async () => {
    const options = { nodes: 0, imageCacheDir: imageCacheDir(process.env), tags: [tag] as const };
    try {
      product = await startProduct(options);
    } catch (error) {
      missing = reasonToSkip(error, process.env['CI']);
      return;
    }
    const { cluster, helm } = product;
    // These agents see the node's own devices and network.
    const privileged = 'pod-security.kubernetes.io/enforce=privileged';
    await cluster.kubectl(['label', '--overwrite', 'namespace', namespace, privileged]);
    const manifests = await renderChart(helm, values, ['--no-hooks']);
    await apply(manifests);
    await waitFor('the CRD', () => cluster.api.post(poolLabelSets, poolLabelSet(pool, labels)), soon);
    await waitForPolicies();
    installedMs = performance.now();
    await Promise.all([1, 2].map(() => cluster.addNode({ labels: registered })));
    names = cluster.nodes.map(({ name }) => name);
  }, 600_000);

  beforeEach(({ skip }) => skip(missing !== undefined, missing));

  afterAll(() => product?.stop());

  /** Sees to it that the coordinators are on two nodes: when they were placed, there may have been but one. */
  async function spread(): Promise<void> {
    const nodesOf = async () => new Set((await product.pods('coordinator')).map(({ spec }) => spec.nodeName));
    if ((await nodesOf()).size < 2) {
      const leads = (await product.leader()).metadata.name;
      const standby = (await product.pods('coordinator')).find(({ metadata }) => metadata.name !== leads);
      await product.cluster.kubectl(['delete', 'pod', '-n', namespace, standby?.metadata.name ?? '']);
    }
    await waitFor('the coordinators to be on two nodes', async () => (await nodesOf()).size === 2, soon);
    await product.rolledOut();
  }

  function apply(objects: string): Promise<string> {
    return product.cluster.kubectl(['apply', '--server-side', '-f', '-'], { stdin: objects });
  }

  /** The API server takes a moment to act on policies, and on their parameters. */
  async function waitForPolicies(): Promise<void> {
    const trial = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'trial', labels: registered } };
    await waitFor('the policies', async () => {
      const node = await product.cluster.api.post<NodeObject>('/api/v1/nodes?dryRun=All', trial);
      return node.metadata.labels?.['team'] === 'a' && isGated(node);
    });
  }

  function nodeAt(index: number): RealNode {
    const node = product.cluster.nodes[index];
    if (node === undefined) throw new Error(`no node ${index}`);
    return node;
  }

  function isGated({ spec }: NodeObject): boolean {
    return spec.taints?.some(({ key }) => key === STARTUP_TAINT) ?? false;
  }

  /** The first version of a node that is so. */
  function firstSeen(name: string, is: (node: NodeObject) => boolean = () => true): NodeObject | undefined {
    return product.seen.find(({ node }) => node.metadata.name === name && is(node))?.node;
  }

  test('has nodes that are born with the labels of their pool and the startup taint', () => {
    const managed = JSON.stringify(Object.keys(labels).toSorted());
    for (const name of names) {
      expect(firstSeen(name)).toMatchObject({
        metadata: {
          labels: { ...registered, ...labels },
          annotations: { [MANAGED_LABELS_ANNOTATION]: managed },
        },
        spec: { taints: expect.arrayContaining([{ key: STARTUP_TAINT, effect: 'NoSchedule' }]) },
      });
    }
  });

  test('comes up, and then lets other pods in', async ({ annotate }) => {
    const { api } = product.cluster;
    const container = { name: 'main', image: 'localhost/rollcall-pause:1' };
    await api.post('/api/v1/namespaces/default/pods', {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'waiting' },
      spec: { containers: [container], automountServiceAccountToken: false, terminationGracePeriodSeconds: 0 },
    });
    await product.rolledOut();
    const rolledOutSeconds = secondsSince(installedMs);
    for (const name of names) {
      const free = await waitFor(`${name} to lose its taint`, () => firstSeen(name, (node) => !isGated(node)), soon);
      expect(free.metadata.labels).toMatchObject(Object.fromEntries(readyLabels.map((key) => [key, 'true'])));
    }
    await annotate(
      `from the start of the nodes: rolled out after ${rolledOutSeconds} s, startup taint off after ${secondsSince(installedMs)} s`,
      'figure',
    );
    await waitFor('the pod that waited to be scheduled', async () => {
      const { spec } = await api.get<KubeObject & { spec: { nodeName?: string } }>(
        '/api/v1/namespaces/default/pods/waiting',
      );
      return names.includes(spec.nodeName ?? '');
    });
  });

  test('labels the node that a Coral is plugged into, and no other', async ({ annotate }) => {
    const [one, other] = [nodeAt(0), nodeAt(1)];
    const pluggedMs = performance.now();
    await one.plugUsb(coral);
    await product.labelled([one.name], [coralLabel], 'true');
    const labelledMs = Math.round(performance.now() - pluggedMs);
    const unpluggedMs = performance.now();
    await one.unplugUsb(coral.port);
    await product.labelled([one.name], [coralLabel], undefined);
    await annotate(
      `Coral: label on after ${labelledMs} ms, off ${secondsSince(unpluggedMs)} s after it went`,
      'figure',
    );
    expect(product.history.since(pluggedMs, coralLabel, other.name)).toEqual([]);
  });

  test('notices that the node is lost on which the coordinator leads, and has it back', async ({ annotate }) => {
    await spread();
    const leader = (await product.leader()).spec.nodeName ?? '';
    const [lost, other] = leader === nodeAt(0).name ? [nodeAt(0), nodeAt(1)] : [nodeAt(1), nodeAt(0)];
    const lostMs = performance.now();
    await lost.kill();
    await product.labelled([lost.name], readyLabels, undefined);
    const goneSeconds = secondsSince(lostMs);
    const backMs = performance.now();
    await lost.restart();
    const readySeconds = secondsSince(backMs);
    await product.labelled([lost.name], readyLabels, 'true');
    await annotate(
      `node lost with the leader: labels gone after ${goneSeconds} s; started again: Ready after ${readySeconds} s, labels back after ${secondsSince(backMs)} s`,
      'figure',
    );
    // Its pods may be called not Ready for a moment as well: a kubelet renews its Lease every 10 s, and the node controller
    // of this cluster waits for 15 s only.
    await product.labelled([other.name], readyLabels, 'true');
    expect((await product.node(lost.name)).metadata.labels).toMatchObject(labels);
  });
});
