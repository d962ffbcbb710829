import path from 'node:path';
import type { RealCluster } from '../real-cluster.ts';

/** Namespace of the stand-ins, like the namespace of the real components. */
export const gitpodNamespace = 'default';
export const readyLabels = ['ws-daemon', 'registry-facade'].map(
  (component) => `gitpod.io/${component}_ready_ns_${gitpodNamespace}`,
);

const root = path.resolve(import.meta.dirname, '../../..');
const ports = { 'ws-daemon': 8080, 'registry-facade': 31750 } as const;

/** Runs the stand-ins of both components as DaemonSets, see {@link applyStandIn}. */
export async function applyGitpodPods(cluster: RealCluster, image: string): Promise<void> {
  for (const [component, port] of Object.entries(ports)) await applyStandIn(cluster, image, { component, port });
}

interface StandInPods {
  /** In their labels. */
  readonly component: string;
  /** Its file in `test/stand-ins`; defaults to the component. */
  readonly program?: string;
  readonly port: number;
  readonly nodeSelector?: Readonly<Record<string, string>>;
}

/**
 * Runs a stand-in as a DaemonSet with host ports, whatever taints nodes have. Its containers are of the product's image,
 * for its Node.js; the stand-in comes from the source tree, which is mounted.
 */
export async function applyStandIn(
  { api }: Pick<RealCluster, 'api'>,
  image: string,
  { component, program = component, port, nodeSelector = {} }: StandInPods,
): Promise<void> {
  const file = path.join(root, `test/stand-ins/${program}.ts`);
  await api.post(`/apis/apps/v1/namespaces/${gitpodNamespace}/daemonsets`, {
    apiVersion: 'apps/v1',
    kind: 'DaemonSet',
    metadata: { name: component, namespace: gitpodNamespace },
    spec: {
      selector: { matchLabels: { component } },
      template: {
        metadata: { labels: { component } },
        spec: {
          nodeSelector,
          tolerations: [{ operator: 'Exists' }],
          automountServiceAccountToken: false,
          terminationGracePeriodSeconds: 1,
          containers: [
            {
              name: component,
              image,
              command: ['/nodejs/bin/node', file, '--host=0.0.0.0', `--port=${port}`],
              ports: [{ containerPort: port, hostPort: port }],
              readinessProbe: { tcpSocket: { port }, periodSeconds: 1 },
              // The tree may be for its owner's eyes only.
              securityContext: { runAsUser: 0 },
              volumeMounts: [{ name: 'source', mountPath: root, readOnly: true }],
            },
          ],
          volumes: [{ name: 'source', hostPath: { path: root, type: 'Directory' } }],
        },
      },
    },
  });
}
