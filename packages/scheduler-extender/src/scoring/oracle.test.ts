import { FakeClock } from '@rollcall/common/testing/fake-clock.ts';
import { DEFAULT_SCORE_WEIGHTS } from '@rollcall/coordinator/model/score-weights.ts';
import { describe, expect, test } from 'vitest';
import { ExtenderService } from './extender-service.ts';
import type { RequiredService, SchedulableNode } from './schedulable-node.ts';
import { busy, node, REGULAR, service, workspacePod } from './scheduler.test-fixtures.ts';
import type { SchedulingPod } from './scheduling-pod.ts';

/**
 * The cases by which Gitpod's own scheduler of 2020 was tested, in workspaces where it counted megabytes (1000 Mi of
 * 10000 are one of ten). What they say that does not apply here:
 *
 * - no node, memory, ephemeral storage, slots for pods, taints, volumes (FitsOnNode, both cases of storage, "n1 slots 0,
 *   n2 storage full", "n1 pod capacity 0", three of taints): kube-scheduler's own plugins filter by them before it asks
 *   an extender, and TestState's sums of memory and storage are theirs;
 * - ghosts (three of strategy, two of TestState, four of schedulePod): Gitpod gave them up in 2022 for pods of low
 *   priority, which kube-scheduler preempts;
 * - "headless with ws1500@n1, ws1000@n2, headless@n3 -> n2": headless ones went to the least used node with a regular
 *   workspace. Here all kinds are packed alike, so that nodes become empty whatever ran on them; case marked below;
 * - "about as dense, and the image", "the image on an empty node": kube-scheduler's own plugin ImageLocality counts images;
 * - the queue (older first, workspaces before others): that is PriorityClass and kube-scheduler's queue;
 * - the limit of fresh workspaces on a node never had an effect there; here it is the rule `starting`.
 */
type Case = {
  name: string;
  nodes: (Partial<SchedulableNode> & { name: string })[];
  pod?: Partial<SchedulingPod>;
  /** The node that the pod goes to; `undefined` for none. */
  goesTo: string | undefined;
};

const headless: Partial<SchedulingPod> = { workspace: 'headless', workspaceType: 'prebuild' };

const STRATEGY: readonly Case[] = [
  { name: 'no node at all', nodes: [], goesTo: undefined },
  { name: 'the only node is full', nodes: [{ name: 'n1', ...busy(10) }], goesTo: undefined },
  { name: 'one empty node', nodes: [{ name: 'n1' }], goesTo: 'n1' },
  { name: 'the first is full', nodes: [{ name: 'n1', ...busy(10) }, { name: 'n2' }], goesTo: 'n2' },
  { name: 'density', nodes: [{ name: 'n1', ...busy(1) }, { name: 'n2' }], goesTo: 'n1' },
  { name: 'density, the other order', nodes: [{ name: 'n1' }, { name: 'n2', ...busy(1) }], goesTo: 'n2' },
  {
    name: 'headless beside regular ones (there: n2)',
    nodes: [
      { name: 'n1', ...busy(3) },
      { name: 'n2', ...busy(2) },
      { name: 'n3', ...busy(1) },
    ],
    pod: headless,
    goesTo: 'n1',
  },
  {
    name: 'headless on three empty nodes',
    nodes: ['n1', 'n2', 'n3'].map((name) => ({ name })),
    pod: headless,
    goesTo: 'n1',
  },
  {
    name: 'headless and regular ones fill a node together',
    nodes: [{ name: 'n1', ...busy(10) }, { name: 'n2' }],
    pod: headless,
    goesTo: 'n2',
  },
];

const facade = (change: Partial<RequiredService> = {}) => service({ name: 'registry-facade', ...change });
const down = { state: 'not-ready', shown: false } as const;

const REQUIRED_SERVICES: readonly Case[] = [
  { name: 'present', nodes: [{ name: 'n1', services: [service()] }], goesTo: 'n1' },
  { name: 'absent', nodes: [{ name: 'n1', services: [service(down)] }], goesTo: undefined },
  { name: 'on one of two nodes', nodes: [{ name: 'n1', services: [service(down)] }, { name: 'n2' }], goesTo: 'n2' },
  { name: 'both absent', nodes: [{ name: 'n1', services: [facade(down), service(down)] }], goesTo: undefined },
  {
    name: 'split across nodes',
    nodes: [
      { name: 'n1', services: [facade(down), service()] },
      { name: 'n2', services: [facade(), service(down)] },
    ],
    goesTo: undefined,
  },
  {
    name: 'both on one node of two',
    nodes: [
      { name: 'n1', services: [facade(down), service()] },
      { name: 'n2', services: [facade(), service()] },
    ],
    goesTo: 'n2',
  },
  { name: 'the second is not up yet', nodes: [{ name: 'n1', services: [facade(), service(down)] }], goesTo: undefined },
];

/** Returns the node on which kube-scheduler would put a pod that it has no opinion of its own about. */
function choose(extenderService: ExtenderService, pod: SchedulingPod, names: readonly string[]): string | undefined {
  const verdicts = extenderService.filter(pod, names);
  const feasible = names.filter((_name, index) => !verdicts[index]);
  if (feasible.length < 2) return feasible[0];
  const scores = extenderService.prioritize(pod, feasible);
  return feasible[scores.indexOf(Math.max(...scores))];
}

function deskOver(nodes: ReadonlyMap<string, SchedulableNode>): ExtenderService {
  return new ExtenderService({
    clock: new FakeClock(),
    limits: { maxWorkspacesPerNode: 10, maxStartingPerNode: 3 },
    weights: DEFAULT_SCORE_WEIGHTS,
    namespace: 'default',
    node: (name) => nodes.get(name),
  });
}

describe.each([
  ['strategy', STRATEGY],
  ['required services', REQUIRED_SERVICES],
])('%s', (_group, cases) => {
  test.each(cases)('$name', ({ nodes, pod, goesTo }) => {
    const known = new Map(nodes.map((one) => [one.name, node(one)]));
    expect(choose(deskOver(known), workspacePod(pod), [...known.keys()])).toBe(goesTo);
  });
});

test('a pod that is bound but not yet listed counts', () => {
  const known = new Map(['n1', 'n2'].map((name) => [name, node({ name, ...busy(name === 'n1' ? 9 : 0) })]));
  const extenderService = deskOver(known);
  expect(choose(extenderService, workspacePod({ id: 'first' }), ['n1', 'n2'])).toBe('n1');
  expect(choose(extenderService, workspacePod({ id: 'second' }), ['n1', 'n2'])).toBe('n2');
});

test('two pods of one cycle both find a place, and of five on one node two have to wait', () => {
  const extenderService = deskOver(new Map([['n1', node({ labels: { [REGULAR]: 'true' } })]]));
  const places = ['a', 'b', 'c', 'd', 'e'].map((id) => choose(extenderService, workspacePod({ id }), ['n1']));
  expect(places).toEqual(['n1', 'n1', 'n1', undefined, undefined]);
});

test('eight pods fill two nodes as far as may start at once', () => {
  const known = new Map(['n1', 'n2'].map((name) => [name, node({ name })]));
  const extenderService = deskOver(known);
  const places = Array.from({ length: 8 }, (_, id) =>
    choose(extenderService, workspacePod({ id: `${id}` }), [...known.keys()]),
  );
  expect(places).toEqual(['n1', 'n1', 'n1', 'n2', 'n2', 'n2', undefined, undefined]);
});
