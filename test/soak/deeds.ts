import { setTimeout as sleep } from 'node:timers/promises';
import { TLS_SECRET_NAME } from '@rollcall/common/well-known.ts';
import { issueLeaf } from '@rollcall/coordinator/tls/certificate-authority.ts';
import type { KubeObject } from '../control-plane/api-client.ts';
import { ownNamespace } from '../control-plane/rbac.ts';
import { waitFor } from '../control-plane/wait-for.ts';
import { withOtherClaims } from '../rig/other-claims.ts';
import { eachOf } from '../scale/each-of.ts';
import { askInside } from './inside.ts';
import { PATIENT, type SoakNode } from './nodes.ts';
import type { Stage } from './stage.ts';
import { FOREIGN, type Truth } from './truth.ts';

/** The chart's default, and a little more. */
const SILENT_MS = 30_000 + 3_000;
const SECRET = `/api/v1/namespaces/${ownNamespace}/secrets/${TLS_SECRET_NAME}`;
const DAY_MS = 86_400_000;

export type Deed = {
  name: string;
  /** From its end until everything is true. */
  withinSeconds: number;
  /** Needs more than {@link SILENT_MS}. */
  isLong?: true;
  /** Returns how to take it back, where everything has to become true before. */
  act: (scene: Scene) => Promise<void | (() => Promise<void>)>;
};

export type Scene = {
  stage: Stage;
  truth: Truth;
  random: () => number;
  /** Factor for all pauses. */
  pace: number;
  /** Marks nodes of which something may change now. */
  touch: (nodes: readonly SoakNode[]) => void;
};

const between = (random: () => number, from: number, to: number) => from + random() * (to - from);
const whole = (random: () => number, from: number, to: number) => Math.floor(between(random, from, to + 1));

/** So many of them, other ones each time. */
export function someOf<T>(all: readonly T[], count: number, random: () => number): T[] {
  const order = all.map((each) => ({ each, place: random() })).toSorted((a, b) => a.place - b.place);
  return order.slice(0, count).map(({ each }) => each);
}

/** Lets processes stand still for some seconds. */
async function frozen(pids: readonly (number | undefined)[], seconds: number): Promise<void> {
  const signal = (name: NodeJS.Signals) => {
    for (const pid of pids) if (pid !== undefined && pid > 0) process.kill(pid, name);
  };
  signal('SIGSTOP');
  await sleep(seconds * 1000);
  signal('SIGCONT');
}

/** Who is not heard for so long that it counts, and what has them heard again. */
async function silent(nodes: readonly SoakNode[], { touch }: Scene, again: () => Promise<void>) {
  touch(nodes);
  for (const node of nodes) node.isSilent = true;
  await sleep(SILENT_MS);
  return async () => {
    for (const node of nodes) node.isSilent = false;
    await again();
  };
}

async function endSecond(
  { stage, random, pace }: Scene,
  signal: 'SIGKILL' | 'SIGTERM',
  logFile?: string,
): Promise<void> {
  const replica = stage.replicas[1];
  await replica.program.kill(signal);
  await sleep(between(random, 0, 3000) * pace);
  replica.start(logFile);
}

/** Ends a part of the control plane, and restarts it after a pause. */
async function ended(
  { stage, random, pace }: Scene,
  part: 'etcd' | 'apiServer',
  signal: NodeJS.Signals,
): Promise<void> {
  await stage.cluster[part].kill(signal);
  await sleep(between(random, 0, 5000) * pace);
  await stage.cluster[part].restart();
}

type Secret = KubeObject & { data: Record<string, string> };
const decoded = (secret: Secret, key: string) => Buffer.from(secret.data[key] ?? '', 'base64').toString();
const encoded = (text: string) => Buffer.from(text).toString('base64');

const DEEDS_OF_COORDINATORS: readonly Deed[] = [
  { name: 'coordinator killed', withinSeconds: 60, act: (scene) => endSecond(scene, 'SIGKILL') },
  { name: 'coordinator stopped', withinSeconds: 60, act: (scene) => endSecond(scene, 'SIGTERM') },
  {
    name: 'leader frozen, and awake before its Lease ends',
    withinSeconds: 60,
    act: async ({ stage, random }) => frozen([(await stage.leader())?.program.pid], between(random, 2, 8)),
  },
  {
    name: 'leader frozen until the other leads',
    withinSeconds: 60,
    act: async ({ stage }) => frozen([(await stage.leader())?.program.pid], 25),
  },
  {
    name: 'no coordinator for a while',
    withinSeconds: 60,
    act: async (scene) => {
      const [first, second] = scene.stage.replicas;
      await second.program.kill('SIGKILL');
      await frozen([first.program.pid], between(scene.random, 5, 20));
      second.start();
    },
  },
];

const DEEDS_OF_THE_CONTROL_PLANE: readonly Deed[] = [
  { name: 'API server killed', withinSeconds: 60, act: (scene) => ended(scene, 'apiServer', 'SIGKILL') },
  { name: 'API server stopped', withinSeconds: 60, act: (scene) => ended(scene, 'apiServer', 'SIGTERM') },
  {
    name: 'API server frozen',
    withinSeconds: 60,
    async act({ stage, random }) {
      await stage.cluster.apiServer.kill('SIGSTOP');
      await sleep(between(random, 3000, 15_000));
      await stage.cluster.apiServer.kill('SIGCONT');
    },
  },
  { name: 'etcd killed', withinSeconds: 60, act: (scene) => ended(scene, 'etcd', 'SIGKILL') },
];

const DEEDS_OF_AGENTS: readonly Deed[] = [
  {
    name: 'agents killed',
    withinSeconds: 60,
    async act({ stage, random }) {
      for (const { name } of someOf(stage.fleetNodes, whole(random, 3, 60), random))
        void stage.fleet.agentOf(name).restart();
      const { node } = stage.processNodes[1];
      await node.agent?.kill('SIGKILL');
      node.startAgent();
      const real = stage.kubeletNodes[1];
      const [pod] = (await real?.agentPods()) ?? [];
      await real?.signal(pod, 'SIGKILL');
      // Its successor need not wait for what a kubelet makes a container wait that ends again and again.
      await real?.deletePod(pod);
    },
  },
  {
    name: 'agents stopped',
    withinSeconds: 60,
    async act({ stage, random }) {
      const real = stage.kubeletNodes[1];
      await real?.deletePod((await real.agentPods())[0]);
      const { node } = stage.processNodes[1];
      await node.agent?.kill('SIGTERM');
      await sleep(between(random, 0, 10_000));
      node.startAgent();
    },
  },
  {
    name: 'agents frozen',
    withinSeconds: 60,
    async act({ stage, random, pace }) {
      const pods = await Promise.all(
        stage.kubeletNodes.map(async (real) => ({ real, pod: (await real.agentPods())[0] })),
      );
      await Promise.all(pods.map(({ real, pod }) => real.signal(pod, 'SIGSTOP')));
      await frozen(
        stage.processNodes.map(({ node }) => node.agent?.pid),
        between(random, 2, 10) * pace,
      );
      await Promise.all(pods.map(({ real, pod }) => real.signal(pod, 'SIGCONT')));
    },
  },
  {
    name: 'some agents silent',
    withinSeconds: 45,
    isLong: true,
    async act(scene) {
      const { stage, random } = scene;
      const nodes = someOf(stage.fleetNodes, whole(random, 1, stage.fleetNodes.length / 5), random);
      const first = stage.processNodes[0];
      for (const { name } of nodes) stage.fleet.agentOf(name).silence();
      process.kill(first.node.agent?.pid ?? 0, 'SIGSTOP');
      return silent([...nodes, first], scene, async () => {
        process.kill(first.node.agent?.pid ?? 0, 'SIGCONT');
        for (const { name } of nodes) void stage.fleet.agentOf(name).report();
      });
    },
  },
  {
    name: 'most agents silent, which says nothing about a node',
    withinSeconds: 60,
    isLong: true,
    async act({ stage, random }) {
      const names = someOf(stage.fleet.names, Math.ceil(stage.fleetNodes.length * between(random, 0.7, 0.95)), random);
      for (const name of names) stage.fleet.agentOf(name).silence();
      await sleep(between(random, 35_000, 60_000));
      for (const name of names) void stage.fleet.agentOf(name).report();
    },
  },
];

const DEEDS_OF_TRUST: readonly Deed[] = [
  {
    name: 'Secret of the certificate deleted',
    withinSeconds: 60,
    act: async ({ stage: { api } }) => {
      await api.patch(SECRET, [{ op: 'remove', path: '/data' }], 'application/json-patch+json');
      await waitFor('other certificates', async () => (await api.get(SECRET))['data'], PATIENT);
    },
  },
  {
    name: 'certificate aged, and renewed',
    withinSeconds: 60,
    async act({ stage: { api } }) {
      const secret = await api.get<Secret>(SECRET);
      const authority = { cert: decoded(secret, 'ca.crt'), key: decoded(secret, 'ca.key') };
      // One that was lost spreads again, and signs later.
      if (authority.key === '') return;
      const names = ['rollcall-coordinator.rollcall.svc', '127.0.0.1', '::1'];
      const { cert, key } = await issueLeaf(authority, { names, nowMs: Date.now() - 61 * DAY_MS });
      const data = { 'tls.crt': encoded(cert), 'tls.key': encoded(key) };
      await api.patch(SECRET, { data });
      const isRenewed = async () => (await api.get<Secret>(SECRET)).data['tls.crt'] !== data['tls.crt'];
      await waitFor('another certificate', isRenewed, PATIENT);
    },
  },
  {
    name: 'certificate damaged, and a coordinator restarted',
    withinSeconds: 90,
    async act(scene) {
      await scene.stage.api.patch(SECRET, { data: { 'tls.crt': encoded('nonsense') } });
      await endSecond(scene, 'SIGKILL');
    },
  },
  { name: 'tokens renewed', withinSeconds: 30, act: ({ stage }) => stage.renewTokens(1) },
  {
    name: 'tokens expired',
    withinSeconds: 45,
    isLong: true,
    async act(scene) {
      const { stage, random } = scene;
      const nodes = someOf(stage.fleetNodes, whole(random, 1, 20), random);
      const now = Math.floor(Date.now() / 1000);
      for (const { name } of nodes) {
        const claims = { iat: now - 1200, nbf: now - 1200, exp: now - 600 };
        const token = stage.fleet.tokenOf(name);
        stage.fleet.agentOf(name).renew(await withOtherClaims(token, claims, stage.cluster.signingKeyFile));
      }
      return silent(nodes, scene, () => eachOf(nodes, 8, ({ name }) => stage.fleet.renewToken(name)));
    },
  },
];

const DEEDS_OF_MACHINES: readonly Deed[] = [
  {
    name: 'services alone',
    withinSeconds: 30,
    act: async ({ random, pace }) => sleep(between(random, 0, 3000) * pace),
  },
  {
    name: 'nowhere to log to',
    withinSeconds: 60,
    async act(scene) {
      const { stage } = scene;
      await Promise.all(stage.pipes.map((pipe) => pipe.fill()));
      const { node } = stage.processNodes[1];
      await node.agent?.kill('SIGKILL');
      node.startAgent([], undefined, '/dev/full');
      await endSecond(scene, 'SIGTERM', '/dev/full');
      // Both are to lead like this.
      await sleep(5000 * scene.pace);
      return async () => {
        for (const pipe of stage.pipes) pipe.drain();
      };
    },
  },
  {
    name: 'clocks stepped',
    withinSeconds: 30,
    async act({ stage, random }) {
      // What tokens are given: more, and they are rightly refused.
      const minutes = 4;
      for (const { name } of stage.replicas)
        await askInside(stage.dir, name, { clockOffsetMs: between(random, -minutes, minutes) * 60_000 });
      for (const number of [1, 2])
        await askInside(stage.dir, `agent-${number}`, { clockOffsetMs: between(random, -400, 400) * DAY_MS });
      for (const { name } of someOf(stage.fleetNodes, whole(random, 1, 60), random))
        stage.fleet.agentOf(name).clockOffsetMs = between(random, -400, 400) * DAY_MS;
    },
  },
  {
    name: 'what others wrote changed by them',
    withinSeconds: 30,
    async act({ stage, truth, random }) {
      const nodes = someOf(stage.nodes, whole(random, 5, 60), random);
      await eachOf(nodes, 8, ({ name }) => putForeign(stage, name, `${whole(random, 1, 1000)}`));
      await truth.remember(nodes.map(({ name }) => name));
    },
  },
  {
    name: 'what is ours changed by others',
    withinSeconds: 30,
    async act({ stage, touch, random }) {
      const nodes = someOf(stage.fleetNodes, whole(random, 3, 30), random);
      touch(nodes);
      await eachOf(nodes, 8, ({ name }) => {
        const value = [null, 'true', 'false', 'nonsense'][whole(random, 0, 3)];
        return stage.api.patch(`/api/v1/nodes/${name}`, {
          metadata: { labels: { 'service.rollcall.dev/mirror': value } },
        });
      });
    },
  },
];

export const DEEDS: readonly Deed[] = [
  ...DEEDS_OF_MACHINES,
  ...DEEDS_OF_AGENTS,
  ...DEEDS_OF_COORDINATORS,
  ...DEEDS_OF_THE_CONTROL_PLANE,
  ...DEEDS_OF_TRUST,
];

/** Sets a label, an annotation and a taint as another client, at a moment when no other client writes. */
export async function putForeign({ api }: Stage, name: string, value: string): Promise<void> {
  const path = `/api/v1/nodes/${name}`;
  const write = async () => {
    const { metadata, spec } = await api.get<KubeObject & { spec: { taints?: { key: string }[] } }>(path);
    const others = (spec.taints ?? []).filter(({ key }) => !key.startsWith(FOREIGN));
    const { resourceVersion } = metadata;
    return api.patch(path, {
      metadata: {
        resourceVersion,
        labels: { [`${FOREIGN}label`]: value, 'service.rollcall.dev.foreign.example.com/mirror': value },
        annotations: { [`${FOREIGN}annotation`]: value },
      },
      spec: { taints: [...others, { key: `${FOREIGN}taint`, value, effect: 'PreferNoSchedule' }] },
    });
  };
  await waitFor(`foreign keys on ${name}`, write, PATIENT);
}
