import path from 'node:path';
import type { Release } from '../../deploy/release/artifacts.ts';
import type { NodeObject, PodObject } from '../control-plane/cluster.ts';
import { waitFor } from '../control-plane/wait-for.ts';
import { ensureHelm, type Helm } from '../helm/helm.ts';
import type { RealCluster } from '../real-node/real-cluster.ts';
import { expectSame } from './step.ts';

const NAMESPACE = 'rollcall';
const SOON = { timeoutMs: 120_000, everyMs: 200 };
const LABEL = 'service.rollcall.dev/kubelet';

/** Something that every node of these clusters has, and that no pod stands for. */
const SPEC = { checks: [{ name: 'port', tcp: { port: 10250 } }] };
const FIRST_SERVICE = JSON.stringify({
  apiVersion: 'rollcall.dev/v1alpha1',
  kind: 'NodeService',
  metadata: { name: 'kubelet' },
  spec: SPEC,
});

/** Installs the CRDs, then the chart with a NodeService among its values, and removes both. The cluster has no CRD yet. */
export async function installByCharts(cluster: RealCluster, release: Release): Promise<void> {
  const helm = await ensureHelm(3);
  const { kubeconfig } = cluster;
  await helm(install(release, release.crdChart), { kubeconfig });
  const values = ['--set', 'crds.install=false', '--set-json', `services.kubelet=${JSON.stringify(SPEC)}`];
  await helm([...install(release, release.chart), ...values], { kubeconfig });
  await expectLabels(cluster, release);
  await testAndUninstall(cluster, helm);
  await helm(['uninstall', 'rollcall-crds', '--namespace', NAMESPACE], { kubeconfig });
}

/** Installs as README.md describes: one command, one object, one label. Then uninstalls, and checks that nothing is left. */
export async function installByChart(cluster: RealCluster, release: Release): Promise<void> {
  const helm = await ensureHelm(4);
  // A user from the range of the project, as OpenShift assigns. The CRDs are still there from another release.
  const values = ['--set', 'runAsUser=1000680000', '--take-ownership'];
  await helm([...install(release, release.chart), ...values], { kubeconfig: cluster.kubeconfig });
  await createFirstService(cluster);
  await expectLabels(cluster, release);
  await testAndUninstall(cluster, helm);
}

/** Arguments of Helm. */
function install({ version }: Release, { name }: Release['chart']): string[] {
  const from = [`oci://${name}`, '--version', version, '--plain-http'];
  const waiting = ['--create-namespace', '--wait', '--timeout', '2m'];
  return ['install', path.basename(name), ...from, '--namespace', NAMESPACE, ...waiting];
}

async function testAndUninstall(cluster: RealCluster, helm: Helm): Promise<void> {
  const { kubeconfig } = cluster;
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
  await createFirstService(cluster);
  await expectLabels(cluster, { dir, ...release });
  // The namespace and the CRDs have no such label, and stay.
  await cluster.kubectl(['delete', '-f', install, '-l', 'app.kubernetes.io/part-of=rollcall', '--cascade=foreground']);
  await cluster.kubectl(['apply', '--server-side', '-f', uninstall]);
  const job = ['--for=condition=complete', '--timeout=2m', 'job/rollcall-uninstall'];
  await cluster.kubectl(['-n', NAMESPACE, 'wait', ...job]);
  await cluster.kubectl(['delete', '-f', uninstall]);
  await expectNothing(cluster);
}

async function createFirstService(cluster: RealCluster): Promise<void> {
  await cluster.kubectl(['apply', '-f', '-'], { stdin: FIRST_SERVICE });
}

async function expectLabels(cluster: RealCluster, { image }: Release): Promise<void> {
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
