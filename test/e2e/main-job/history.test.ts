import { isDeepStrictEqual } from 'node:util';
import { notReadyTaint, SCALE_DOWN_HOLD } from '@rollcall/common/well-known.ts';
import { afterAll, expect, test } from 'vitest';
import { type NodeObject, setPodReady } from '../../control-plane/cluster.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { createWorkspace, installWorkspaceCrd, setWorkspaceNode } from '../../control-plane/workspaces.ts';
import { type EmbeddedRig, startEmbeddedRig } from '../../rig/embedded-rig.ts';
import type { Rig } from '../../rig/rig.ts';
import type { SimulatedNode } from '../../rig/simulated-node.ts';
import type { StandInKind } from '../../stand-ins/stand-in.ts';
import { type Deeds, expected, FOREIGN_LABEL, GATES, observed, SERVICES } from './model.ts';

const STEPS = 100;
const WORKSPACES = ['w0', 'w1', 'w2'];

let embedded: EmbeddedRig | undefined;
afterAll(() => embedded?.stop());

/** Numbers in [0, 1) that a seed repeats (mulberry32). */
function generator(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** A cluster, and what can be done to it. Everything that is done is noted for the model. */
class Stage {
  readonly rig: Rig;
  readonly deeds: Deeds;
  readonly #embedded: EmbeddedRig;
  readonly #random: () => number;
  #taints = 0;

  constructor(started: EmbeddedRig, gate: Deeds['gate'], random: () => number) {
    this.#embedded = started;
    this.rig = started.rig;
    this.#random = random;
    const plain = new Set([this.rig.node(0).name]);
    const unreadyPods = new Set<string>();
    this.deeds = { gate, plain, unreadyPods, workspaces: new Map(), held: new Set(), foreignTaints: new Map() };
  }

  get api() {
    return this.#embedded.controlPlane.api;
  }

  pick<T>(list: readonly T[]): T {
    return list[Math.floor(this.#random() * list.length)] as T;
  }

  async setLabel(node: SimulatedNode, service: StandInKind, value: string | null): Promise<void> {
    const labels = { [this.rig.readyLabel(service)]: value };
    await this.api.patch(`/api/v1/nodes/${node.name}`, { metadata: { labels } });
  }

  async setPod(node: SimulatedNode, service: StandInKind, ready: boolean): Promise<void> {
    const name = `${service}-${node.name}`;
    await setPodReady(this.api, 'default', name, ready);
    if (ready) this.deeds.unreadyPods.delete(name);
    else this.deeds.unreadyPods.add(name);
  }

  async moveWorkspace(node: SimulatedNode): Promise<void> {
    const name = this.pick(WORKSPACES);
    await setWorkspaceNode(this.api, { name }, node.name);
    this.deeds.workspaces.set(name, node.name);
  }

  async takeWorkspaceOff(): Promise<void> {
    if (this.deeds.workspaces.size === 0) return;
    const name = this.pick([...this.deeds.workspaces.keys()]);
    await setWorkspaceNode(this.api, { name }, undefined);
    this.deeds.workspaces.delete(name);
  }

  async hold(node: SimulatedNode, on: boolean): Promise<void> {
    const annotations = { [SCALE_DOWN_HOLD]: on ? 'true' : null };
    await this.api.patch(`/api/v1/nodes/${node.name}`, { metadata: { annotations } });
    if (on) this.deeds.held.add(node.name);
    else this.deeds.held.delete(node.name);
  }

  async taint(node: SimulatedNode): Promise<void> {
    this.#taints += 1;
    const key = `example.com/t${this.#taints}`;
    await this.#kubectlTaint(node, `${key}=x:NoSchedule`);
    const { foreignTaints } = this.deeds;
    // kubectl puts a new taint before the others.
    foreignTaints.set(node.name, [key, ...(foreignTaints.get(node.name) ?? [])]);
  }

  async untaint(node: SimulatedNode): Promise<void> {
    const [first, ...rest] = this.deeds.foreignTaints.get(node.name) ?? [];
    if (first === undefined) return;
    await this.#kubectlTaint(node, `${first}-`);
    this.deeds.foreignTaints.set(node.name, rest);
  }

  /** Where no taints are written, none are looked for while the coordinator leads. */
  async taintAsOurs(node: SimulatedNode, service: StandInKind): Promise<void> {
    if (this.deeds.gate !== 'label') await this.#kubectlTaint(node, `${notReadyTaint(service)}=true:NoSchedule`);
  }

  async #kubectlTaint(node: SimulatedNode, taint: string): Promise<void> {
    await this.#embedded.controlPlane.kubectl(['taint', 'node', node.name, taint, '--overwrite']);
  }

  async restartAgent(node: SimulatedNode, signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    await node.agent?.kill(signal);
    node.startAgent();
  }

  /** Deviations from the model. */
  async wrong(): Promise<string[]> {
    const nodes = await this.api.list<NodeObject>('/api/v1/nodes');
    return this.rig.nodes.flatMap((node) => {
      const found = nodes.find(({ metadata }) => metadata.name === node.name);
      const shown = found && observed(found, this.rig);
      const wanted = expected(node, this.rig, this.deeds);
      if (isDeepStrictEqual(shown, wanted)) return [];
      return [`${node.name}: ${JSON.stringify(shown)} and not ${JSON.stringify(wanted)}`];
    });
  }

  /** What the leader says of the keys of its nodes. */
  async reasons(): Promise<string[]> {
    const leader = await this.rig.leader();
    const documents = await Promise.all(this.rig.nodes.map(({ name }) => leader.explain(name)));
    return documents.flatMap(({ name, keys }) =>
      keys.map(({ key, stance, onNode, reason }) => `${name}: ${key}: ${stance}, is ${onNode}: ${reason}`),
    );
  }
}

type Deed = (stage: Stage, node: SimulatedNode, service: StandInKind) => Promise<unknown>;

const DEEDS: Readonly<Record<string, Deed>> = {
  'kill the service': async (_, node, service) => node.runs(service) && node.kill(service),
  'start the service': (_, node, service) => node.revive(service),
  'make the pod not ready': (stage, node, service) => stage.setPod(node, service, false),
  'make the pod ready': (stage, node, service) => stage.setPod(node, service, true),
  'set the label by hand': (stage, node, service) => stage.setLabel(node, service, 'true'),
  'set the label to something else': (stage, node, service) => stage.setLabel(node, service, 'false'),
  'delete the label by hand': (stage, node, service) => stage.setLabel(node, service, null),
  'move a workspace here': (stage, node) => stage.moveWorkspace(node),
  'take a workspace off its node': (stage) => stage.takeWorkspaceOff(),
  'hold the node by hand': (stage, node) => stage.hold(node, true),
  'let go of the node': (stage, node) => stage.hold(node, false),
  'add a foreign taint': (stage, node) => stage.taint(node),
  'remove a foreign taint': (stage, node) => stage.untaint(node),
  'set our taint by hand': (stage, node, service) => stage.taintAsOurs(node, service),
  'restart the agent': (stage, node) => stage.restartAgent(node, 'SIGTERM'),
  'kill the agent': (stage, node) => stage.restartAgent(node, 'SIGKILL'),
};

/** Happen once each, in between: they take their time. */
const UPHEAVALS: Readonly<Record<string, (stage: Stage, started: EmbeddedRig) => Promise<unknown>>> = {
  'stop the leader': async ({ rig }) => {
    await rig.endCoordinator(await rig.leader(), 'SIGTERM');
    await rig.addCoordinator();
  },
  'kill the API server': async (_, { controlPlane }) => {
    await controlPlane.killApiServer();
    await controlPlane.restartApiServer();
  },
  'kill a coordinator': async ({ rig }) => {
    const [first] = rig.coordinators;
    if (first) await rig.endCoordinator(first, 'SIGKILL');
    await rig.addCoordinator();
  },
};

test('after any history the nodes say the truth, and nothing else was touched', { timeout: 300_000 }, async () => {
  const seed = Number(process.env['ROLLCALL_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
  const random = generator(seed);
  const gate = GATES[Math.floor(random() * GATES.length)] ?? 'both';
  embedded = await startEmbeddedRig({ nodes: 0, coordinators: 2, coordinatorArgs: [`--readiness-gate=${gate}`] });
  const { rig, controlPlane } = embedded;
  await installWorkspaceCrd(controlPlane.api);
  for (const name of WORKSPACES) await createWorkspace(controlPlane.api, { name });
  await rig.addNode({ labels: { [FOREIGN_LABEL]: 'rnd' } });
  const labels = { [FOREIGN_LABEL]: 'rnd', 'gitpod.io/workload_workspace_regular': 'true' };
  await Promise.all([1, 2, 3].map(() => rig.addNode({ labels })));
  const stage = new Stage(embedded, gate, random);

  const history: string[] = [`seed ${seed}`, `gate ${gate}`];
  const upheavals = new Map(Object.keys(UPHEAVALS).map((name, index) => [25 * (index + 1), name]));
  for (let step = 0; step < STEPS; step += 1) {
    const upheaval = upheavals.get(step);
    if (upheaval) {
      history.push(upheaval);
      await UPHEAVALS[upheaval]?.(stage, embedded);
    }
    const [name, node, service] = [stage.pick(Object.keys(DEEDS)), stage.pick(rig.nodes), stage.pick(SERVICES)];
    history.push(`${name}: ${node.name} ${service}`);
    await DEEDS[name]?.(stage, node, service);
  }
  try {
    const isRight = async () => (await stage.wrong()).length === 0;
    // A service that fell often is held back for a while.
    await waitFor('every node to be as it should', isRight, { timeoutMs: 150_000, everyMs: 200 });
  } catch (cause) {
    const told = [...(await stage.wrong()), 'as the leader says', ...(await stage.reasons()), 'after', ...history];
    throw new Error(`Wrong:\n${told.join('\n')}`, { cause });
  }
  expect(rig.history.changes.filter(({ key, from }) => key === FOREIGN_LABEL && from !== undefined)).toEqual([]);
});
