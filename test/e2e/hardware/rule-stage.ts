import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { DEFAULT_SETTINGS } from '../../../deploy/source/manifests/settings.ts';
import { type ApiClient, ApiError } from '../../control-plane/api-client.ts';
import { createNode, type NodeObject } from '../../control-plane/cluster.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { type EmbeddedCluster, embeddedCluster } from '../../rig/cluster.ts';
import { Rig } from '../../rig/rig.ts';
import { NodeStates } from '../gitpod/node-states.ts';

const LIST = 'rollcall.dev/keys';

/** The labels that a Node lists as labels of rules. */
export function impliedIn(annotations: Readonly<Record<string, string>>): string[] {
  const origins = Object.entries(JSON.parse(annotations[LIST] ?? '{}') as Record<string, string>);
  return origins.flatMap(([id, origin]) => (origin.startsWith('rule') ? [id.slice('label:'.length)] : []));
}

type Labels = Record<string, string | null>;

/** A coordinator with a label directory, and Nodes without kubelet or agent. */
export class RuleStage {
  readonly cluster: EmbeddedCluster;
  readonly api: ApiClient;
  readonly states: NodeStates;
  /** The label directory. */
  readonly rules: string;
  rig!: Rig;
  #nodes = 0;
  #marks = 0;

  private constructor(cluster: EmbeddedCluster, rules: string) {
    this.cluster = cluster;
    this.api = cluster.api;
    this.states = new NodeStates(cluster.api);
    this.rules = rules;
  }

  /** `files`: content by path below the label directory. */
  static async start(
    files: Record<string, string>,
    coordinatorArgs: readonly string[] = [],
    clockSpeed = 1,
  ): Promise<RuleStage> {
    const labelPrefixes = [...DEFAULT_SETTINGS.labelPrefixes, 'example.org/', 'plain', 'marked'];
    const rules = await mkdtemp(path.join(tmpdir(), 'rollcall-label-dir-'));
    const stage = new RuleStage(await embeddedCluster({ labelPrefixes }), rules);
    try {
      await stage.write('marked', 'mark\n');
      for (const [file, content] of Object.entries(files)) await stage.write(file, content);
      const args = [`--label-dir=${rules}`, ...coordinatorArgs];
      stage.rig = await Rig.start({ cluster: stage.cluster, nodes: 0, coordinatorArgs: args, clockSpeed });
      return stage;
    } catch (error) {
      await stage.stop();
      throw error;
    }
  }

  async stop(): Promise<void> {
    this.states.stop();
    await this.rig?.stop();
    await this.cluster.stop();
    await rm(this.rules, { recursive: true, force: true });
  }

  async write(file: string, content: string): Promise<void> {
    const target = path.join(this.rules, file);
    await mkdir(path.dirname(target), { recursive: true });
    await writeFile(target, content);
  }

  remove(file: string): Promise<void> {
    return rm(path.join(this.rules, file), { recursive: true });
  }

  async node(labels: Record<string, string> = {}): Promise<string> {
    const name = `rule-node-${++this.#nodes}`;
    await createNode(this.api, name, { labels });
    return name;
  }

  read(node: string): Promise<NodeObject> {
    return this.api.get<NodeObject>(`/api/v1/nodes/${node}`);
  }

  /** Changes labels as a person does: by PUT, which is not counted among the PATCHes. */
  async edit(node: string, labels: Labels, manager = 'kubectl-edit'): Promise<void> {
    for (;;) {
      const object = await this.read(node);
      const next = Object.entries({ ...object.metadata.labels, ...labels }).filter(([, value]) => value !== null);
      const metadata = { ...object.metadata, labels: Object.fromEntries(next) as Record<string, string> };
      try {
        await this.api.put(`/api/v1/nodes/${node}?fieldManager=${manager}`, { ...object, metadata });
        return;
      } catch (error) {
        if (!(error instanceof ApiError) || error.status !== 409) throw error;
      }
    }
  }

  /** Waits until a Node has these labels (`undefined`: not), and these keys are listed as implied, or none. */
  async until(node: string, labels: Record<string, string | undefined>, listed?: readonly string[]): Promise<void> {
    const list = JSON.stringify(listed ?? []);
    await this.states.until(
      node,
      `${JSON.stringify(labels)}, list ${list}`,
      (state) =>
        Object.entries(labels).every(([key, value]) => state.labels[key] === value) &&
        JSON.stringify(impliedIn(state.annotations)) === list,
      10_000,
    );
  }

  /** Waits until the coordinator has dealt with what happened before to Nodes. */
  async settled(): Promise<void> {
    this.#marks += 1;
    const marker = await this.node({ mark: String(this.#marks) });
    await this.until(marker, { marked: 'true' }, ['marked']);
  }

  /** PATCHes of Nodes by the coordinator because of what `act` does, which makes no Nodes of its own. */
  async patchesBy(act: () => Promise<unknown>): Promise<number> {
    await this.settled();
    const before = await this.#patches();
    await act();
    await this.settled();
    // The marker costs one, and one by the test itself, which takes off the taint that a Node begins with.
    return (await this.#patches()) - before - 2;
  }

  async #patches(): Promise<number> {
    const { controlPlane } = this.cluster;
    const count = async () => {
      const of = (verb: string) => controlPlane.requestTotals({ verb, resource: 'nodes', subresource: '' });
      return (await of('PATCH')) + (await of('APPLY'));
    };
    // The API server counts a request a moment after its effect can be seen.
    let last = await count();
    let same = 0;
    await waitFor('the count of PATCHes to stand still', async () => {
      const next = await count();
      same = next === last ? same + 1 : 0;
      last = next;
      return same === 3;
    });
    return last;
  }

  async whileDown(act: () => Promise<unknown>): Promise<void> {
    for (const each of [...this.rig.coordinators]) await this.rig.endCoordinator(each, 'SIGTERM');
    await act();
    await this.rig.addCoordinator();
    await this.rig.leader();
  }
}
