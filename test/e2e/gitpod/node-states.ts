import { notReadyTaint, readyLabel } from '@rollcall/common/well-known.ts';
import type { ApiClient } from '../../control-plane/api-client.ts';
import type { NodeObject } from '../../control-plane/cluster.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { watchNodes } from '../../control-plane/watch.ts';
import { REGISTRY_FACADE_READY, WS_DAEMON_READY } from '../../rig/embedded-rig.ts';
import type { StandInKind } from '../../stand-ins/stand-in.ts';

export type Taint = NonNullable<NodeObject['spec']['taints']>[number];
/** A Node at one resource version. */
export type NodeState = {
  version: string;
  labels: Readonly<Record<string, string>>;
  annotations: Readonly<Record<string, string>>;
  taints: readonly Taint[];
};

/** Records every state of every Node that a watch delivers, with labels and taints of the same moment. */
export class NodeStates {
  readonly #states = new Map<string, NodeState[]>();
  readonly #stop: () => void;

  constructor(client: ApiClient) {
    this.#stop = watchNodes(client, ({ type, object }) => {
      if (type === 'DELETED') this.#states.delete(object.metadata.name);
      if (type !== 'ADDED' && type !== 'MODIFIED') return;
      const { metadata, spec } = object as NodeObject;
      const { name, resourceVersion: version = '', labels = {}, annotations = {} } = metadata;
      this.#states.set(name, [...this.of(name), { version, labels, annotations, taints: spec.taints ?? [] }]);
    });
  }

  of(node: string): readonly NodeState[] {
    return this.#states.get(node) ?? [];
  }

  last(node: string): NodeState | undefined {
    return this.of(node).at(-1);
  }

  /** The last state and all that come after it. */
  mark(node: string): () => readonly NodeState[] {
    const from = Math.max(0, this.of(node).length - 1);
    return () => this.of(node).slice(from);
  }

  /** Waits until the last state of a Node is so. */
  async until(
    node: string,
    description: string,
    isSo: (state: NodeState) => boolean,
    timeoutMs = 20_000,
  ): Promise<NodeState> {
    const check = () => {
      const state = this.last(node);
      return state !== undefined && isSo(state) ? state : undefined;
    };
    try {
      return await waitFor(`${node}: ${description}`, check, { timeoutMs, everyMs: 5 });
    } catch (error) {
      throw new Error(`${String(error)}; it is ${JSON.stringify(this.last(node))}`);
    }
  }

  stop(): void {
    this.#stop();
  }
}

export function taintKeys({ taints }: NodeState): string[] {
  return taints.map(({ key }) => key);
}

export const WS_TAINT = notReadyTaint('ws-daemon');
export const FACADE_TAINT = notReadyTaint('registry-facade');

/** Labels of a Node that is for workspaces. */
export const WORKSPACE_NODE: Readonly<Record<string, string>> = { 'gitpod.io/workload_workspace_regular': 'true' };

/** Whether a scheduler that looks for the label, and minds the taint, takes the service for ready there. */
export function isOpen(state: NodeState, service: StandInKind): boolean {
  const isTainted = taintKeys(state).includes(notReadyTaint(service));
  return state.labels[readyLabel(service, 'default')] === 'true' && !isTainted;
}

export function hasBothLabels({ labels }: NodeState): boolean {
  return [WS_DAEMON_READY, REGISTRY_FACADE_READY].every((key) => labels[key] === 'true');
}
