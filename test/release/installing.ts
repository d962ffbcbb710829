import path from 'node:path';
import type { Release } from '../../deploy/release/artifacts.ts';
import type { NodeObject, PodObject } from '../control-plane/cluster.ts';
import { waitFor } from '../control-plane/wait-for.ts';
import { ensureHelm } from '../helm/helm.ts';
import type { RealCluster } from '../real-node/real-cluster.ts';
import { expectSame } from './step.ts';

const NAMESPACE = 'rollcall';
const SOON = { timeoutMs: 120_000, everyMs: 200 };
const LABEL = 'service.rollcall.dev/kubelet';

/** Something that every node of these clusters has, and that no pod stands for. */
const FIRST_SERVICE = JSON.stringify({
  apiVersion: 'rollcall.dev/v1alpha1',
  kind: 'NodeService',
  metadata: { name: 'kubelet' },
  spec: { checks: [{ name: 'port', tcp: { port: 10250 } }] },
});

/** Installs as README.md describes: one command, one object, one label. Then uninstalls, and checks that nothing is left. */
export async function installByHelm(cluster: RealCluster, release: Release, major: 3 | 4): Promise<void> {
  const helm = await ensureHelm(major);
  const chart = `oci://${release.chart.name}`;
  const from = [chart, '--version', release.version, '--plain-http', '--namespace', NAMESPACE];
  const { kubeconfig } = cluster;
  // A user from the range of the project, as OpenShift assigns.
  const user = major === 4 ? ['--set', 'runAsUser=1000680000'] : [];
  await helm(['install', 'rollcall', ...from, ...user, '--create-namespace', '--wait', '--timeout', '2m'], {
    kubeconfig,
  });
  await expectLabels(cluster, release);
  const asked = ['test', 'rollcall', '--namespace', NAMESPACE, '--timeout', '2m'];
  const tested = await helm(asked, { kubeconfig, withErrors: true });
  process.stdout.write(`${/^.*rollcall works.*$/m.exec(tested)?.[0]}\n`);
  if (!tested.includes('rollcall works: ')) throw new Error(`helm test did not say that it works:\n${tested}`);
  await helm(['uninstall', 'rollcall', '--namespace', NAMESPACE, '--timeout', '2m'], { kubeconfig });
  await expectNothing(cluster);
}

export async function installByManifests(cluster: RealCluster, { dir, ...release }: Release): Promise<void> {
  const [install, uninstall] = ['install.yaml', 'uninstall.yaml'].map((name) => path.join(dir, name)) as [
    string,
    string,
  ];
  await cluster.kubectl(['apply', '--server-side', '-f', install]);
  const workloads = ['deployment/rollcall-coordinator', 'daemonset/rollcall-agent'];
  await cluster.kubectl(['-n', NAMESPACE, 'rollout', 'status', '--timeout=2m', ...workloads]);
  await expectLabels(cluster, { dir, ...release });
  // The namespace and the CRDs have no such label, and stay.
  await cluster.kubectl(['delete', '-f', install, '-l', 'app.kubernetes.io/part-of=rollcall', '--cascade=foreground']);
  await cluster.kubectl(['apply', '--server-side', '-f', uninstall]);
  await cluster.kubectl([
    '-n',
    NAMESPACE,
    'wait',
    '--for=condition=complete',
    '--timeout=2m',
    'job/rollcall-uninstall',
  ]);
  const left = () => cluster.kubectl(['get', '-f', uninstall, '--ignore-not-found', '-o', 'name']);
  await waitFor('the objects of the uninstallation to be gone', async () => (await left()) === '', SOON);
  await expectNothing(cluster);
}

async function expectLabels(cluster: RealCluster, { image }: Release): Promise<void> {
  await cluster.kubectl(['apply', '-f', '-'], { stdin: FIRST_SERVICE });
  await waitFor('the first label', async () => (await labelled(cluster)).length === cluster.nodes.length, SOON);
  const pods = await cluster.api.list<PodObject>(`/api/v1/namespaces/${NAMESPACE}/pods`);
  for (const { spec } of pods as (PodObject & { spec: { containers: { image: string }[] } })[])
    for (const container of spec.containers) expectSame(container.image, `${image.name}@${image.digest}`);
}

async function expectNothing(cluster: RealCluster): Promise<void> {
  expectSame((await labelled(cluster)).map(({ metadata }) => metadata.name).join(), '');
  await cluster.kubectl(['delete', 'nodeservices', '--all']);
  const noPods = async () => (await cluster.api.list(`/api/v1/namespaces/${NAMESPACE}/pods`)).length === 0;
  await waitFor('pods to be gone', noPods, SOON);
}

async function labelled(cluster: RealCluster): Promise<NodeObject[]> {
  const nodes = await cluster.api.list<NodeObject>('/api/v1/nodes');
  return nodes.filter(({ metadata }) => metadata.labels?.[LABEL] === 'true');
}
