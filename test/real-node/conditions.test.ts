import path from 'node:path';
import type { NodeCondition } from '@rollcall/coordinator/kube/objects.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { KubeObject } from '../control-plane/api-client.ts';
import { writeKubeconfig } from '../control-plane/kubeconfig.ts';
import { installAccess } from '../control-plane/rbac.ts';
import { type WaitOptions, waitFor } from '../control-plane/wait-for.ts';
import { watchNodes } from '../control-plane/watch.ts';
import { Coordinator, type CoordinatorPorts, coordinatorPorts } from '../rig/coordinator.ts';
import { pauseImage } from './node-files.ts';
import { describeOnRealNodes } from './on-real-nodes.ts';
import { type RealCluster, startRealCluster } from './real-cluster.ts';

const CONDITION = 'service.rollcall.dev/PauseReady';
const KUBELETS = ['DiskPressure', 'MemoryPressure', 'PIDPressure', 'Ready'];
const SERVICES = '/apis/rollcall.dev/v1alpha1/nodeservices';
const deploy = path.resolve(import.meta.dirname, '../../deploy');
/** A kubelet says something every 5 s: 120 are ten minutes. */
const HEARTBEATS = Number(process.env['ROLLCALL_HEARTBEATS'] ?? 5);
const soon: WaitOptions = { timeoutMs: 90_000, everyMs: 100 };

type Seen = { conditions: (NodeCondition & { lastHeartbeatTime?: string })[]; appliedAt: string | undefined };

describeOnRealNodes('beside a real kubelet, the condition of a service', () => {
  let cluster: RealCluster;
  let coordinator: Coordinator;
  let kubeconfig: string;
  let ports: CoordinatorPorts;
  /** Every version of the Node. */
  const seen: Seen[] = [];
  let stopWatching: () => void;

  beforeAll(async () => {
    cluster = await startRealCluster({ nodes: 1 });
    kubeconfig = path.join(cluster.dir, 'coordinator.kubeconfig');
    const kubeconfigFor = async (token: string) => {
      await writeKubeconfig(kubeconfig, cluster.url, cluster.ca, { token });
      return kubeconfig;
    };
    await installAccess({ api: cluster.api, kubeconfigFor });
    for (const file of ['crds/nodeservices.yaml', 'policies/fence.yaml']) {
      await cluster.kubectl(['apply', '-f', path.join(deploy, file)]);
    }
    await cluster.api.post('/api/v1/namespaces/default/pods', {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'pause', labels: { app: 'pause' } },
      spec: {
        nodeName: 'node-1',
        automountServiceAccountToken: false,
        tolerations: [{ operator: 'Exists' }],
        containers: [{ name: 'pause', image: pauseImage, imagePullPolicy: 'Never' }],
      },
    });
    stopWatching = watchNodes(cluster.api, ({ type, object }) => {
      if (type === 'ADDED' || type === 'MODIFIED') seen.push(seenOf(object as KubeObject));
    });
    ports = await coordinatorPorts();
    coordinator = startCoordinator();
    const pods = { namespace: 'default', selector: { matchLabels: { app: 'pause' } } };
    const spec = { checks: [{ name: 'pod', pods }], publish: { condition: CONDITION } };
    const service = { apiVersion: 'rollcall.dev/v1alpha1', kind: 'NodeService', metadata: { name: 'pause' }, spec };
    await waitFor('NodeServices to be served', () => cluster.api.post(SERVICES, service), soon);
  });

  afterAll(async () => {
    stopWatching?.();
    await coordinator?.destroy();
    await cluster?.stop();
  });

  function startCoordinator(): Coordinator {
    return new Coordinator({ ports, kubeconfig, name: 'coordinator', args: ['--gitpod=false'] });
  }

  function seenOf({ metadata, status }: KubeObject): Seen {
    const fields = (metadata['managedFields'] ?? []) as { manager: string; subresource?: string; time: string }[];
    const entry = fields.find(({ manager, subresource }) => manager === 'rollcall' && subresource === 'status');
    return { ...(status as { conditions: Seen['conditions'] }), appliedAt: entry?.time };
  }

  const last = () => seen.at(-1);
  const find = (each: Seen | undefined, type: string) => each?.conditions.find((condition) => condition.type === type);
  const typesOf = (each: Seen) => each.conditions.map(({ type }) => type).toSorted();

  test('stays unchanged through its heartbeats, without a write of ours, as do the conditions of the kubelet', {
    timeout: 120_000 + HEARTBEATS * 10_000,
  }, async () => {
    await waitFor('the condition', () => find(last(), CONDITION)?.status === 'True', soon);
    const from = seen.length - 1;
    const beats = () => new Set(seen.slice(from).map((each) => find(each, 'Ready')?.lastHeartbeatTime)).size;
    await waitFor('heartbeats', () => beats() > HEARTBEATS, { ...soon, timeoutMs: 90_000 + HEARTBEATS * 10_000 });
    const since = seen.slice(from);
    for (const each of since) expect(typesOf(each)).toEqual([...KUBELETS, CONDITION].toSorted());
    expect(new Set(since.map((each) => JSON.stringify(find(each, CONDITION)))).size).toBe(1);
    expect(new Set(since.map(({ appliedAt }) => appliedAt)).size).toBe(1);
  });

  test('is True again after a restart of both, and none of the kubelet is lost', async () => {
    const from = seen.length - 1;
    await coordinator.kill('SIGKILL');
    await cluster.nodes[0]?.restart();
    coordinator = startCoordinator();
    const isWell = () => [CONDITION, 'Ready'].every((type) => find(last(), type)?.status === 'True');
    await waitFor('the leader', () => coordinator.leads(), soon);
    await waitFor('both to be True', isWell, soon);
    for (const each of seen.slice(from)) expect(typesOf(each)).toEqual([...KUBELETS, CONDITION].toSorted());
  });

  test('goes with its service, and leaves the conditions of the kubelet', async () => {
    await cluster.api.delete(`${SERVICES}/pause`);
    await waitFor('its end', () => find(last(), CONDITION) === undefined, soon);
    expect(typesOf(last() ?? { conditions: [], appliedAt: undefined })).toEqual(KUBELETS);
    expect(find(last(), 'Ready')?.status).toBe('True');
  });
});
