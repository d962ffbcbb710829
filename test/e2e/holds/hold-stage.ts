import { DO_NOT_DISRUPT, KARPENTER_POOL_LABEL, SCALE_DOWN_DISABLED } from '@rollcall/common/well-known.ts';
import type { KubeObject } from '../../control-plane/api-client.ts';
import { createNamespace, createNode, createPod } from '../../control-plane/cluster.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { type EmbeddedRig, startEmbeddedRig } from '../../rig/embedded-rig.ts';
import { applyCrd } from '../services/node-services.ts';

export const NODE_HOLDS = '/apis/rollcall.dev/v1alpha1/nodeholds';
export const KARPENTERS = { [KARPENTER_POOL_LABEL]: 'default' };

type HoldStatus = { nodesHeld?: number; conditions?: { type: string; status: string; reason: string }[] };

/** A coordinator behind the fence, Nodes and pods without kubelet, and NodeHolds. */
export class HoldStage {
  readonly embedded: EmbeddedRig;
  #nodes = 0;
  #pods = 0;

  private constructor(embedded: EmbeddedRig) {
    this.embedded = embedded;
  }

  static async start({ crd = true, clockSpeed = 1 } = {}): Promise<HoldStage> {
    const stage = new HoldStage(await startEmbeddedRig({ nodes: 0, clockSpeed }));
    await createNamespace(stage.api, 'batch');
    // A coordinator that has found no CRD takes its time to look again.
    if (crd) await stage.whileDown(() => applyCrd(stage.embedded.controlPlane, 'nodeholds'));
    return stage;
  }

  get api() {
    return this.embedded.controlPlane.api;
  }

  get rig() {
    return this.embedded.rig;
  }

  stop(): Promise<void> {
    return this.embedded.stop();
  }

  async node(labels: Record<string, string> = {}, annotations: Record<string, string> = {}): Promise<string> {
    const name = `hold-node-${++this.#nodes}`;
    await createNode(this.api, name, { labels, annotations });
    return name;
  }

  /** A pod in the namespace `batch`; returns its name. */
  async pod(nodeName: string, labels: Record<string, string> = { keep: 'true' }, spec = {}): Promise<string> {
    const name = `pod-${++this.#pods}`;
    await createPod(this.api, { namespace: 'batch', name, nodeName, labels, ready: true, spec });
    return name;
  }

  async end(pod: string, phase: 'Succeeded' | 'Failed'): Promise<void> {
    await this.api.patch(`/api/v1/namespaces/batch/pods/${pod}/status`, { status: { phase } });
  }

  remove(pod: string): Promise<unknown> {
    return this.api.delete(`/api/v1/namespaces/batch/pods/${pod}`);
  }

  hold(name: string, matchLabels: Record<string, string> = { keep: 'true' }, namespace = 'batch'): Promise<unknown> {
    const spec = { pods: { namespace, selector: { matchLabels } } };
    return this.api.post(NODE_HOLDS, {
      apiVersion: 'rollcall.dev/v1alpha1',
      kind: 'NodeHold',
      metadata: { name },
      spec,
    });
  }

  release(name: string): Promise<unknown> {
    return this.api.delete(`${NODE_HOLDS}/${name}`);
  }

  async status(name: string): Promise<HoldStatus> {
    return (await this.api.get<KubeObject & { status?: HoldStatus }>(`${NODE_HOLDS}/${name}`)).status ?? {};
  }

  /** The condition Ready, as `STATUS REASON`. */
  async inForce(name: string): Promise<string> {
    const found = (await this.status(name)).conditions?.find(({ type }) => type === 'Ready');
    return found ? `${found.status} ${found.reason}` : '';
  }

  /** What the annotations for cluster-autoscaler and for Karpenter say. */
  async annotations(node: string): Promise<{ scaleDown: string | undefined; disrupt: string | undefined }> {
    const { annotations = {} } = (await this.api.get(`/api/v1/nodes/${node}`)).metadata;
    return { scaleDown: annotations[SCALE_DOWN_DISABLED], disrupt: annotations[DO_NOT_DISRUPT] };
  }

  async until(node: string, scaleDown: string | undefined, disrupt?: string, timeoutMs = 30_000): Promise<void> {
    let last = {};
    const isSo = async () => {
      const found = await this.annotations(node);
      last = found;
      return found.scaleDown === scaleDown && found.disrupt === disrupt;
    };
    await waitFor(`the annotations of ${node} to be ${scaleDown}, ${disrupt}`, isSo, { timeoutMs }).catch(
      (cause: unknown) => {
        throw new Error(`The annotations were ${JSON.stringify(last)}`, { cause });
      },
    );
  }

  /** Waits until the coordinator has dealt with everything before, by a pod that comes and goes elsewhere. */
  async settled(): Promise<void> {
    const node = await this.node();
    const pod = await this.pod(node);
    await this.until(node, 'true');
    await this.remove(pod);
    await this.until(node, undefined);
  }

  /** Does something while no coordinator runs; afterwards one leads. */
  async whileDown(act: () => Promise<unknown>, args: readonly string[] = []): Promise<void> {
    for (const each of [...this.rig.coordinators]) await this.rig.endCoordinator(each, 'SIGTERM');
    await act();
    await this.rig.addCoordinator(args);
    await this.rig.leader();
  }
}
