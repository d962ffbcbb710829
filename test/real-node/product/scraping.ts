import type { PodObject } from '../../control-plane/cluster.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { type DiscoveredPort, PANELS_OF_FAULTS, Prometheus } from '../../monitoring/prometheus.ts';
import { gitpodNamespace } from './gitpod-pods.ts';
import { namespace, type Product, soon } from './product.ts';

type DeclaredPod = PodObject & { spec: { containers: { ports?: { name: string; containerPort: number }[] }[] } };

/** Panels about what the chart has off by default: evictions, URLs that are told, and the scheduler extender. */
const panelsOfOptions = ['Evictions', 'Notifications', 'Response time', 'Requests', 'Verdicts'];
/** They have data once the leader saw a service go, and a pod of it start. */
export const panelsOfOutages: readonly string[] = ['Pod start to ready', 'Events'];

/** A Prometheus on the host, outside of the cluster, for all that is in the product's namespace now. */
export async function startPrometheus(product: Product, command: string): Promise<Prometheus> {
  return Prometheus.start(command, await discoverPorts(product));
}

/** Every port that a container declares, as the discovery of Kubernetes finds it. */
async function discoverPorts({ cluster }: Product): Promise<DiscoveredPort[]> {
  const pods = await cluster.api.list<DeclaredPod>(`/api/v1/namespaces/${namespace}/pods`);
  return pods
    .filter(({ metadata }) => metadata['deletionTimestamp'] === undefined)
    .flatMap(({ metadata, spec, status }) =>
      spec.containers
        .flatMap(({ ports }) => ports ?? [])
        .map(({ name, containerPort }) => ({
          address: `${status.podIP}:${containerPort}`,
          port: name,
          app: metadata.labels?.['app.kubernetes.io/name'] ?? '',
          pod: metadata.name,
          node: spec.nodeName ?? '',
        })),
    );
}

/** Waits until the dashboard has data, except these panels and the panels of options; returns the queries without data. */
export async function queriesWithoutData(prometheus: Prometheus, but: readonly string[] = []): Promise<object[]> {
  const excused = new Set([...panelsOfOptions, ...PANELS_OF_FAULTS, ...but]);
  let without: object[] = [];
  const isFilled = async () => {
    without = (await prometheus.unanswered()).filter(({ panel }) => !excused.has(panel));
    return without.length === 0;
  };
  await waitFor('data', isFilled, { timeoutMs: 30_000, everyMs: 500 }).catch(() => {});
  return without;
}

/** Takes the pods of ws-daemon from all nodes, and lets new ones start there. */
export async function replaceWsDaemons(product: Product, nodes: readonly string[], label: string): Promise<void> {
  const daemonSet = `/apis/apps/v1/namespaces/${gitpodNamespace}/daemonsets/ws-daemon`;
  for (const [nowhere, value] of [['true', undefined] as const, [null, 'true'] as const]) {
    const spec = { template: { spec: { nodeSelector: { nowhere } } } };
    await product.cluster.api.patch(daemonSet, { spec });
    for (const node of nodes) await product.history.until(node, label, value, soon.timeoutMs);
  }
}
