import { SCALE_DOWN_DISABLED } from '@rollcall/common/well-known.ts';
import type { ApiClient } from '../../control-plane/api-client.ts';
import { createNode, type NodeObject } from '../../control-plane/cluster.ts';
import type { ControlPlane } from '../../control-plane/control-plane.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { watchNodes } from '../../control-plane/watch.ts';
import {
  createWorkspace,
  deleteWorkspace,
  installWorkspaceCrd,
  type NewWorkspace,
  setWorkspaceNode,
  type WorkspaceRef,
} from '../../control-plane/workspaces.ts';
import { type EmbeddedRig, startEmbeddedRig } from '../../rig/embedded-rig.ts';
import type { Rig } from '../../rig/rig.ts';

/** A value that the annotation took on a Node. */
type Change = { node: string; to: string | undefined; atMs: number };

/** A coordinator, Workspaces and Nodes without kubelet or agent, and what becomes of the scale-down annotation. */
export class ScaleDownStage {
  readonly embedded: EmbeddedRig;
  readonly rig: Rig;
  readonly controlPlane: ControlPlane;
  readonly api: ApiClient;
  readonly changes: Change[] = [];
  /** Changes of Nodes in any field, those left out that an interrupted watch may have missed. */
  updates = 0;
  readonly #values = new Map<string, string | undefined>();
  readonly #stopWatch: () => void;
  #nodes = 0;
  #workspaces = 0;
  #marker: string | undefined;
  #markerPatches = 0;

  private constructor(embedded: EmbeddedRig) {
    this.embedded = embedded;
    this.rig = embedded.rig;
    this.controlPlane = embedded.controlPlane;
    this.api = embedded.controlPlane.api;
    this.#stopWatch = watchNodes(this.api, ({ type, object }) => {
      const { name, annotations = {} } = object.metadata;
      if (type === 'MODIFIED') this.updates += 1;
      const to = type === 'DELETED' ? undefined : annotations[SCALE_DOWN_DISABLED];
      if (this.#values.get(name) !== to) this.changes.push({ node: name, to, atMs: performance.now() });
      this.#values.set(name, to);
    });
  }

  static async start({ crd = true, clockSpeed = 1 } = {}): Promise<ScaleDownStage> {
    const embedded = await startEmbeddedRig({ nodes: 0, clockSpeed });
    const stage = new ScaleDownStage(embedded);
    // A coordinator that has found no CRD takes its time to look again.
    if (crd) await stage.whileDown(() => installWorkspaceCrd(stage.api));
    return stage;
  }

  async stop(): Promise<void> {
    this.#stopWatch();
    await this.embedded.stop();
  }

  /** Creates a Node and returns its name. */
  async node(annotations: Record<string, string> = {}): Promise<string> {
    const name = `ws-node-${++this.#nodes}`;
    await createNode(this.api, name, { annotations });
    return name;
  }

  /** Creates a Workspace, on a node when one is given. */
  async workspace(nodeName?: string, options: Partial<NewWorkspace> = {}): Promise<WorkspaceRef> {
    const workspace = { name: `ws-${++this.#workspaces}`, ...options };
    await createWorkspace(this.api, workspace);
    if (nodeName !== undefined) await this.move(workspace, nodeName);
    return workspace;
  }

  async move(workspace: WorkspaceRef, nodeName: string | undefined): Promise<void> {
    await setWorkspaceNode(this.api, workspace, nodeName);
  }

  delete(workspace: WorkspaceRef): Promise<void> {
    return deleteWorkspace(this.api, workspace);
  }

  read(node: string): Promise<NodeObject> {
    return this.api.get<NodeObject>(`/api/v1/nodes/${node}`);
  }

  /** Annotates a Node as `kubectl annotate node NAME …` does, with its own field manager. */
  annotate(node: string, ...changes: string[]): Promise<string> {
    return this.controlPlane.kubectl(['annotate', '--overwrite', 'node', node, ...changes]);
  }

  value(node: string): string | undefined {
    return this.#values.get(node);
  }

  /** Every value that the annotation took on a node, in order; it began absent. */
  valuesOf(node: string): (string | undefined)[] {
    return this.changes.filter((change) => change.node === node).map(({ to }) => to);
  }

  /** Waits until the annotation has a value (`undefined`: is absent). */
  async until(node: string, value: string | undefined, timeoutMs = 10_000): Promise<void> {
    const wanted = value === undefined ? 'absent' : `"${value}"`;
    await waitFor(`the annotation of ${node} to be ${wanted}`, () => this.value(node) === value, {
      timeoutMs,
      everyMs: 5,
    });
  }

  /** Waits until the coordinator has dealt with everything before: what comes after it, it has dealt with, twice. */
  async settled(): Promise<void> {
    this.#marker ??= await this.node();
    const marker = await this.workspace(this.#marker);
    await this.until(this.#marker, 'true');
    await this.delete(marker);
    await this.until(this.#marker, undefined);
    this.#markerPatches += 2;
  }

  /** PATCHes of Nodes until now, those for {@link settled} left out. */
  async patches(): Promise<number> {
    return (await this.embedded.nodePatches()) - this.#markerPatches;
  }

  /** Waits until Nodes were patched just so often, and everything before was dealt with. */
  async patched(times: number): Promise<void> {
    await this.settled();
    let counted = 0;
    const check = async () => {
      counted = await this.patches();
      return counted === times;
    };
    // The API server counts a request a moment after its effect can be seen.
    await waitFor('the count of PATCHes', check, { timeoutMs: 3000 }).catch((cause: unknown) => {
      throw new Error(`Nodes were patched ${counted} times instead of ${times}`, { cause });
    });
  }

  /** Does something while no coordinator runs; afterwards one leads. */
  async whileDown(act: () => Promise<void>): Promise<void> {
    for (const each of [...this.rig.coordinators]) await this.rig.endCoordinator(each, 'SIGTERM');
    await act();
    await this.rig.addCoordinator();
    await this.rig.leader();
  }
}
