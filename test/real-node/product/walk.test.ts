import { readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { imageCacheDir } from '../../../deploy/image/cached-input.ts';
import { reasonToSkip } from '../../../deploy/image/missing-input.test-fixtures.ts';
import type { NodeObject } from '../../control-plane/cluster.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { type StandIn, startStandIn } from '../../stand-ins/stand-in.ts';
import type { RealNode } from '../node.ts';
import { describeOnRealNodes } from '../on-real-nodes.ts';
import { marksOf, namespace, type Product, release, soon, startProduct } from './product.ts';
import { registry } from './product-image.ts';

const tag = '0.1.0';
const plugins = '/run/plugins';
const values = {
  image: { registry, tag },
  agent: { probePaths: [plugins] },
};

/** One of at most 15 lines each. */
const objects = {
  'registry-mirror': (name: string) => `apiVersion: rollcall.dev/v1alpha1
kind: NodeService
metadata:
  name: ${name}
spec:
  checks:
    - name: http
      http: { port: 5000, path: /v2/, expectedStatuses: ["200", "401"] }
  publish:
    label: service.rollcall.dev/${name}
    taint: { key: readiness.k8s.io/${name}, effect: NoSchedule, maxUnavailable: 100% }
    condition: service.rollcall.dev/${name}
`,
  'csi-driver': (name: string) => `apiVersion: rollcall.dev/v1alpha1
kind: NodeService
metadata:
  name: ${name}
spec:
  checks:
    - name: socket
      csi: { socket: ${plugins}/driver/csi.sock }
  publish:
    label: service.rollcall.dev/${name}
    taint: { key: readiness.k8s.io/${name}, effect: NoSchedule, maxUnavailable: 100% }
    condition: service.rollcall.dev/${name}
`,
} as const;
type Kind = keyof typeof objects;
const kinds = Object.keys(objects) as Kind[];
/** More falls of one service on one node in five minutes, and it would be held back. */
const killsFree = 3;
/** Two services on two nodes are killed three times in each. */
const rounds = Number(process.env['ROLLCALL_KILL_ROUNDS'] ?? 2);

describeOnRealNodes('any service on a node,', () => {
  let product: Product;
  let nodes: readonly RealNode[];
  let before: object[];
  let missing: string | undefined;
  const running = new Map<string, StandIn>();

  beforeAll(async () => {
    try {
      product = await startProduct({ nodes: 2, imageCacheDir: imageCacheDir(process.env), tags: [tag] });
    } catch (error) {
      missing = reasonToSkip(error, process.env['CI']);
      return;
    }
    nodes = product.cluster.nodes;
    // Sockets of root, and the directory that they are in.
    const privileged = 'pod-security.kubernetes.io/enforce=privileged';
    await product.cluster.kubectl(['label', '--overwrite', 'namespace', namespace, privileged]);
    before = await marks();
    const { kubeconfig } = product.cluster;
    await product.helm(['install', ...release], { kubeconfig, stdin: JSON.stringify(values) });
    await product.rolledOut();
  }, 600_000);

  beforeEach(({ skip }) => skip(missing !== undefined, missing));

  afterAll(async () => {
    await Promise.all([...running.values()].map((each) => each.stop()));
    await product?.stop();
  });

  const marks = async () => Promise.all(nodes.map(async ({ name }) => marksOf(await product.node(name))));
  const apply = (text: string) => product.cluster.kubectl(['apply', '-f', '-'], { stdin: text });
  const remove = (...names: string[]) => product.cluster.kubectl(['delete', 'nodeservice', ...names]);
  const names = () => nodes.map(({ name }) => name);

  /** A process of the node's own system, as a unit of systemd would be. */
  async function start(node: RealNode, kind: Kind): Promise<void> {
    const within = node.within;
    await node.enter('mkdir', ['-p', `${plugins}/driver`]);
    const standIn =
      kind === 'registry-mirror'
        ? await startStandIn('http-service', { host: '0.0.0.0', port: 5000, within })
        : await startStandIn('csi-driver', { args: ['--socket', `${plugins}/driver/csi.sock`], within });
    running.set(`${node.name} ${kind}`, standIn);
  }

  const everywhere = (work: (node: RealNode, kind: Kind) => Promise<unknown>) =>
    Promise.all(nodes.flatMap((node) => kinds.map((kind) => work(node, kind))));

  function isShown({ metadata, spec, status }: NodeObject, name: string, isReady: boolean): boolean {
    const isLabelled = metadata.labels?.[`service.rollcall.dev/${name}`] === 'true';
    const isTainted = spec.taints?.some(({ key }) => key === `readiness.k8s.io/${name}`) === true;
    const condition = status?.conditions?.find(({ type }) => type === `service.rollcall.dev/${name}`);
    const isSaid = condition?.status === (isReady ? 'True' : 'False');
    return isLabelled === isReady && isTainted !== isReady && isSaid;
  }

  /** When a node said so for the first time after a moment; monotonic milliseconds. */
  async function shown(node: string, name: string, isReady: boolean, fromMs: number): Promise<number> {
    const found = () =>
      product.seen.find(
        (seen) => seen.atMs >= fromMs && seen.node.metadata.name === node && isShown(seen.node, name, isReady),
      );
    return (await waitFor(`${name} on ${node} to be ${isReady ? '' : 'not '}ready`, found, soon)).atMs;
  }

  /** Kills a process; returns the milliseconds until its node shows it. */
  async function killed(node: RealNode, kind: Kind, name: string): Promise<number> {
    const killedMs = performance.now();
    await running.get(`${node.name} ${kind}`)?.kill('SIGKILL');
    return (await shown(node.name, name, false, killedMs)) - killedMs;
  }

  test('has a label by the object that the first chapter has', async () => {
    const readme = readFileSync(path.resolve(import.meta.dirname, '../../../README.md'), 'utf8');
    const [, object = ''] = /```yaml\n(apiVersion: rollcall.*?)```\n/s.exec(readme) ?? [];
    const mirrors = nodes.map(({ name }) => `${name} registry-mirror`);
    for (const node of nodes) await start(node, 'registry-mirror');
    await apply(object);
    await product.labelled(names(), ['service.rollcall.dev/registry-mirror'], 'true');
    await remove('registry-mirror');
    await product.labelled(names(), ['service.rollcall.dev/registry-mirror'], undefined);
    await Promise.all(mirrors.map((mirror) => running.get(mirror)?.stop()));
  });

  test('is one object of at most 15 lines: ready, it has the label, no taint and a condition that is True', async () => {
    await everywhere(start);
    for (const kind of kinds) {
      expect(objects[kind](kind).trim().split('\n').length).toBeLessThanOrEqual(15);
      await apply(objects[kind](kind));
    }
    await everywhere(({ name }, kind) => shown(name, kind, true, 0));
    // A mirror that wants to know who asks is up as well.
    const mirror = running.get(`${nodes[0]?.name} registry-mirror`);
    const asked = async () => (await mirror?.stats())?.requests ?? 0;
    const fromMs = performance.now();
    await mirror?.fault('status 401');
    const until = (await asked()) + 4;
    await waitFor('it to be asked more often than a failure would last', async () => (await asked()) >= until, soon);
    expect(product.history.changes.filter(({ atMs }) => atMs >= fromMs)).toEqual([]);
    await remove(...kinds);
    await waitFor('nothing to be left', async () => isEqual(await marks(), before), soon);
  });

  test('whose process is killed loses the label, has the taint, and its condition is False, at once', async ({
    annotate,
  }) => {
    const times: number[] = [];
    for (let round = 0; round < rounds; round += 1) {
      const nameOf = (kind: Kind) => `${kind}-${round}`;
      for (const kind of kinds) await apply(objects[kind](nameOf(kind)));
      await everywhere(({ name }, kind) => shown(name, nameOf(kind), true, 0));
      for (let kill = 0; kill < killsFree; kill += 1) {
        for (const node of nodes) for (const kind of kinds) times.push(await killed(node, kind, nameOf(kind)));
        const startedMs = performance.now();
        await everywhere(start);
        await everywhere(({ name }, kind) => shown(name, nameOf(kind), true, startedMs));
      }
      await remove(...kinds.map(nameOf));
      await waitFor('nothing to be left', async () => isEqual(await marks(), before), soon);
    }
    times.sort((a, b) => a - b);
    const at = (share: number) => Math.round(times[Math.ceil(times.length * share) - 1] ?? Number.NaN);
    const figure = `${times.length} kills: label gone, taint there and condition False after ${at(0.5)} ms (p50), ${at(0.99)} ms (p99)`;
    await annotate(figure, 'figure');
    // The limits are wide, since the machine does other work as well.
    expect(at(0.5)).toBeLessThan(1000);
    expect(at(0.99)).toBeLessThan(5000);
  });

  test('leaves nothing when it is deleted while no coordinator runs', async () => {
    for (const kind of kinds) await apply(objects[kind](kind));
    await everywhere(({ name }, kind) => shown(name, kind, true, 0));
    const killedMs = performance.now();
    await everywhere(async (node, kind) => running.get(`${node.name} ${kind}`)?.kill('SIGKILL'));
    await everywhere(({ name }, kind) => shown(name, kind, false, killedMs));
    const scale = (replicas: number) =>
      product.cluster.kubectl(['-n', namespace, 'scale', 'deployment/rollcall-coordinator', `--replicas=${replicas}`]);
    await scale(0);
    await waitFor('no coordinator to run', async () => (await product.pods('coordinator')).length === 0, soon);
    await remove(...kinds);
    expect(await marks()).not.toEqual(before);
    await scale(2);
    await waitFor('nothing to be left', async () => isEqual(await marks(), before), soon);
  });

  test('is Unknown on a node that lost its power, once its agent is silent, and on no other', async ({ annotate }) => {
    const kind = 'registry-mirror';
    await apply(objects[kind](kind));
    const fromMs = performance.now();
    for (const node of nodes) await start(node, kind);
    for (const { name } of nodes) await shown(name, kind, true, fromMs);
    const leader = (await product.leader()).spec.nodeName;
    const [lost, other] = nodes[0]?.name === leader ? [nodes[1], nodes[0]] : [nodes[0], nodes[1]];
    if (!lost || !other) throw new Error('there are two nodes');
    const lostMs = performance.now();
    await lost.kill();
    const said = ({ name }: RealNode) =>
      product.seen.filter(({ atMs, node }) => atMs >= lostMs && node.metadata.name === name).map(conditionOf);
    const unknown = () => said(lost).find(({ status }) => status === 'Unknown');
    const { atMs } = await waitFor('the condition to be Unknown', unknown, soon);
    const seconds = (atMs - lostMs) / 1000;
    await annotate(`Unknown ${seconds.toFixed(1)} s after the power was lost`, 'figure');
    // An agent reports every 10 s, and is silent after 30.
    expect(seconds).toBeGreaterThan(19);
    expect(said(lost).some(({ status }) => status === 'False')).toBe(false);
    expect(said(other).every(({ status }) => status === 'True')).toBe(true);
    const backMs = performance.now();
    await lost.restart();
    await start(lost, kind);
    await shown(lost.name, kind, true, backMs);
    await remove(kind);
  });

  function conditionOf({ atMs, node }: (typeof product.seen)[number]): { atMs: number; status: string | undefined } {
    const found = node.status?.conditions?.find(({ type }) => type === 'service.rollcall.dev/registry-mirror');
    return { atMs, status: found?.status };
  }
});

function isEqual(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
