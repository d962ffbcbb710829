import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { KubeObject } from '../control-plane/api-client.ts';
import type { NodeObject, PodObject } from '../control-plane/cluster.ts';
import { type WaitOptions, waitFor } from '../control-plane/wait-for.ts';
import { httpGet } from '../rig/http-get.ts';
import { writeProgramImage } from './image-archive.ts';
import type { RealNode } from './node.ts';
import { describeOnRealNodes } from './on-real-nodes.ts';
import { type RealCluster, startRealCluster } from './real-cluster.ts';
import { marksOf, tracesOf } from './traces.ts';

const coral = { port: '1-1', vendor: '1a6e', device: '089a', interfaces: [{ class: 'fe' }] };
const hostPort = 8091;
/** A container that is started anew takes a few seconds, on a busy machine more. */
const soon: WaitOptions = { timeoutMs: 60_000, everyMs: 100 };

const machineFiles = ['/proc/sys/vm/overcommit_memory', '/proc/sys/kernel/panic', '/proc/sys/kernel/panic_on_oops'];
const machineDirs = [
  '/var/lib/kubelet',
  '/var/lib/containerd',
  '/var/lib/cni',
  '/etc/cni',
  '/opt/cni',
  '/run/containerd',
];
const machineState = () => [machineFiles.map((file) => readFileSync(file, 'utf8')), machineDirs.map(existsSync)];

const probe = { httpGet: { path: '/healthz', port: 8080 }, periodSeconds: 1, timeoutSeconds: 1 };
const web = {
  apiVersion: 'apps/v1',
  kind: 'DaemonSet',
  metadata: { name: 'web', namespace: 'default' },
  spec: {
    selector: { matchLabels: { app: 'web' } },
    template: {
      metadata: { labels: { app: 'web' } },
      spec: {
        automountServiceAccountToken: false,
        terminationGracePeriodSeconds: 1,
        securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
        containers: [
          {
            name: 'web',
            image: 'localhost/rollcall-pod:1.2.3',
            ports: [{ containerPort: 8080, hostPort }],
            env: [{ name: 'NODE_NAME', valueFrom: { fieldRef: { fieldPath: 'spec.nodeName' } } }],
            securityContext: {
              readOnlyRootFilesystem: true,
              allowPrivilegeEscalation: false,
              capabilities: { drop: ['ALL'] },
            },
            readinessProbe: probe,
            livenessProbe: { ...probe, failureThreshold: 2 },
            resources: { requests: { cpu: '10m', memory: '16Mi' }, limits: { memory: '64Mi' } },
            volumeMounts: [
              { name: 'token', mountPath: '/token', readOnly: true },
              { name: 'sys', mountPath: '/host/sys', readOnly: true },
            ],
          },
        ],
        volumes: [
          {
            name: 'token',
            projected: {
              sources: [{ serviceAccountToken: { path: 'token', audience: 'web', expirationSeconds: 600 } }],
            },
          },
          { name: 'sys', hostPath: { path: '/sys', type: 'Directory' } },
        ],
      },
    },
  },
};
const service = {
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 'web', namespace: 'default' },
  spec: { selector: { app: 'web' }, ports: [{ port: 80, targetPort: 8080 }] },
};

interface Stats {
  pods: { podRef: { name: string }; containers: { memory?: { rssBytes: number } }[] }[];
}

describeOnRealNodes('a cluster of real nodes', () => {
  let cluster: RealCluster;
  let before: unknown;

  beforeAll(async () => {
    before = machineState();
    cluster = await startRealCluster({ nodes: 2 });
    const archive = path.join(cluster.dir, 'pod.tar');
    await writeProgramImage(archive, 'any/name:1', cluster.binaries.pod, 'pod');
    await cluster.importImage(archive, 'localhost/rollcall-pod:1.2.3');
    await cluster.api.post('/api/v1/namespaces/default/services', service);
    await cluster.api.post('/apis/apps/v1/namespaces/default/daemonsets', web);
  });

  afterAll(() => cluster?.stop());

  /** The pod of the DaemonSet on a node, once it is Ready. */
  function readyPod(node: RealNode): Promise<PodObject> {
    return waitFor(
      `a ready pod on ${node.name}`,
      async () => {
        const selector = `labelSelector=app%3Dweb&fieldSelector=spec.nodeName%3D${node.name}`;
        const pods = await cluster.api.list<PodObject>(`/api/v1/namespaces/default/pods?${selector}`);
        return pods.find(
          ({ metadata, status }) =>
            metadata['deletionTimestamp'] === undefined &&
            status.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True'),
        );
      },
      soon,
    );
  }

  /** What a pod answers to the host. */
  async function ask(pod: PodObject, question: string): Promise<{ status: number; body: string }> {
    return httpGet(`http://${pod.status.podIP}:8080${question}`);
  }

  /** What a pod gets from a URL. */
  async function fetchFrom(pod: PodObject, url: string): Promise<string> {
    return (await ask(pod, `/fetch?url=${encodeURIComponent(url)}`)).body;
  }

  async function isNodeReady({ name }: RealNode): Promise<boolean> {
    const { status } = await cluster.api.get<NodeObject>(`/api/v1/nodes/${name}`);
    return status.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True') ?? false;
  }

  function nodeAt(index: number): RealNode {
    const node = cluster.nodes[index];
    if (node === undefined) throw new Error(`no node ${index}`);
    return node;
  }

  test('rolls out a DaemonSet on every node, from an image that was only imported', async () => {
    for (const node of cluster.nodes) {
      const pod = await readyPod(node);
      expect(pod.status.hostIP).toBe(node.ip);
      expect((await ask(pod, '/node')).body).toBe(node.name);
    }
    expect(cluster.nodes.map(({ name }) => name)).toEqual(['node-1', 'node-2']);
  });

  test('runs a container without rights, as its security context says', async () => {
    const pod = await readyPod(nodeAt(0));
    const status = (await ask(pod, '/file?path=/proc/1/status')).body;
    expect(status).toMatch(/^Uid:\s+65532\s/m);
    expect(status).toMatch(/^CapEff:\s+0+$/m);
    expect(status).toMatch(/^NoNewPrivs:\s+1$/m);
    expect(status).toMatch(/^Seccomp:\s+2$/m);
  });

  test('gives a pod a token that names its node', async () => {
    const node = nodeAt(1);
    const pod = await readyPod(node);
    const token = (await ask(pod, '/file?path=/token/token')).body;
    const review = await cluster.api.post<KubeObject & { status: { user: { extra: Record<string, string[]> } } }>(
      '/apis/authentication.k8s.io/v1/tokenreviews',
      { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', spec: { token, audiences: ['web'] } },
    );
    const { metadata } = await cluster.api.get(`/api/v1/nodes/${node.name}`);
    expect(review.status.user.extra).toMatchObject({
      'authentication.kubernetes.io/node-name': [node.name],
      'authentication.kubernetes.io/node-uid': [metadata.uid],
      'authentication.kubernetes.io/pod-uid': [pod.metadata.uid],
    });
  });

  test('lets pods reach a Service on both nodes, by an address that they find in their environment', async () => {
    const pod = await readyPod(nodeAt(0));
    const { spec } = await cluster.api.get<KubeObject & { spec: { clusterIP: string } }>(
      '/api/v1/namespaces/default/services/web',
    );
    const environment = (await ask(pod, '/file?path=/proc/1/environ')).body.split('\0');
    expect(environment).toContain(`WEB_SERVICE_HOST=${spec.clusterIP}`);
    const seen = new Set<string>();
    await waitFor('both nodes to answer', async () => {
      seen.add(await fetchFrom(pod, `http://${spec.clusterIP}/node`));
      return seen.size > 1;
    });
    expect([...seen].sort()).toEqual(['node-1', 'node-2']);
  });

  test('lets pods reach the API server', async () => {
    const pod = await readyPod(nodeAt(0));
    const { spec } = await cluster.api.get<KubeObject & { spec: { clusterIP: string } }>(
      '/api/v1/namespaces/default/services/kubernetes',
    );
    // The program knows no authority: that it does not trust the certificate shows that it was given one.
    expect(await fetchFrom(pod, `https://${spec.clusterIP}/`)).toContain('certificate signed by unknown authority');
  });

  test('lets pods reach a host port of their own node and of another', async () => {
    const pod = await readyPod(nodeAt(0));
    await readyPod(nodeAt(1));
    for (const node of cluster.nodes.slice(0, 2)) {
      expect(await fetchFrom(pod, `http://${node.ip}:${hostPort}/node`)).toBe(node.name);
    }
  });

  test('says through the kubelet what a container has written, and how much memory it has', async () => {
    const pod = await readyPod(nodeAt(0));
    await ask(pod, '/file?path=/nowhere');
    expect(await cluster.kubectl(['logs', pod.metadata.name])).toContain('open /nowhere: no such file');
    const bytes = await waitFor(
      'the use of memory',
      async () => {
        const stats = JSON.parse(await cluster.api.text('GET', '/api/v1/nodes/node-1/proxy/stats/summary')) as Stats;
        const own = stats.pods.find(({ podRef }) => podRef.name === pod.metadata.name);
        return own?.containers[0]?.memory?.rssBytes;
      },
      soon,
    );
    expect(bytes).toBeGreaterThan(1_000_000);
    expect(bytes).toBeLessThan(64 * 1024 * 1024);
  });

  test('shows a USB device to pods and to listeners to udev, as soon as it is plugged in, on that node only', async () => {
    const [one, other] = [await readyPod(nodeAt(0)), await readyPod(nodeAt(1))];
    const file = `/file?path=/host/sys/bus/usb/devices/${coral.port}/idVendor`;
    const binding = createRequire(path.resolve('agent/package.json')).resolve('usb/index.js');
    const listening = path.join(cluster.dir, 'listening');
    const listener = `const { Emitter } = require('${binding}');
      const emitter = new Emitter();
      const say = (what) => { process.stdout.write(what); process.exit(0); };
      setTimeout(say, 30_000, 'nothing');
      emitter.addAttach(() => say('attached')).then(() => require('node:fs').writeFileSync('${listening}', ''));`;
    const heard = nodeAt(0).enter(process.execPath, ['-e', listener]);
    await waitFor('the listener', () => existsSync(listening), soon);

    await nodeAt(0).plugUsb(coral);
    expect(await heard).toBe('attached');
    expect(await ask(one, file)).toMatchObject({ status: 200, body: '1a6e\n' });
    expect((await ask(other, file)).status).toBe(404);
    await nodeAt(0).unplugUsb(coral.port);
    expect((await ask(one, file)).status).toBe(404);
    expect(existsSync(`/sys/bus/usb/devices/${coral.port}`)).toBe(false);
  });

  test('starts a container again that does not answer', async () => {
    const pod = await readyPod(nodeAt(0));
    const pids = await nodeAt(0).podProcesses(pod.metadata.uid ?? '');
    expect(pids).toHaveLength(1);
    for (const pid of pids) process.kill(pid, 'SIGSTOP');
    const again = await waitFor(
      'the container to be started again',
      async () => {
        const { status } = await readyPod(nodeAt(0));
        const [container] = status['containerStatuses' as keyof typeof status] as unknown as { restartCount: number }[];
        return container?.restartCount === 1 ? container : undefined;
      },
      soon,
    );
    expect(again).toMatchObject({ ready: true });
  });

  test('takes in a node that registers with labels and taints', async () => {
    const node = await cluster.addNode({
      labels: { 'example.com/pool': 'p1' },
      taints: ['example.com/new=:NoSchedule'],
    });
    const { metadata, spec } = await cluster.api.get<NodeObject>(`/api/v1/nodes/${node.name}`);
    expect(metadata.labels).toMatchObject({ 'example.com/pool': 'p1', 'kubernetes.io/hostname': 'node-3' });
    expect(spec.taints).toContainEqual({ key: 'example.com/new', effect: 'NoSchedule' });
    await node.kill();
  });

  test('notices that a node is lost, and has its pods back when it returns', async () => {
    const node = nodeAt(1);
    const lost = await readyPod(node);
    await node.kill();
    await expect(ask(lost, '/node')).rejects.toThrow();
    await waitFor('the node to be not ready', async () => !(await isNodeReady(node)), soon);
    await node.restart();
    expect(await isNodeReady(node)).toBe(true);
    const pod = await waitFor(
      'the pod to answer',
      async () => {
        const found = await readyPod(node);
        return (await ask(found, '/node')).body === node.name ? found : undefined;
      },
      soon,
    );
    expect(pod.spec.nodeName).toBe(node.name);
  });

  test('leaves nothing on the machine', async () => {
    await readyPod(nodeAt(0));
    const marks = await marksOf(cluster);
    const running = await tracesOf(marks);
    for (const kind of [/^process .*kubelet/, /^process .*\/pod $/, /rollcall\d+n0/, /^10\.98\.[\d.]+\/26/, /cgroup/]) {
      expect(running).toContainEqual(expect.stringMatching(kind));
    }
    await cluster.stop();
    expect(await tracesOf(marks)).toEqual([]);
    expect(machineState()).toEqual(before);
  });
});
