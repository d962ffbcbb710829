import { expect, test } from 'vitest';
import { podsCheck, serviceOf } from '../model/services.test-fixtures.ts';
import type { ObservedNode } from '../state/observed-node.ts';
import type { EvaluatedNode } from './labelers/labeler.ts';
import { snapshot } from './readiness/readiness.test-fixtures.ts';
import { TaintBudget } from './taint-budget.ts';

const SERVICES = 200;
const NODES = 5000;
const PIECE_MS_MAX = 50;

test(`the first look at ${SERVICES} services on ${NODES} nodes holds up the event loop for less than ${PIECE_MS_MAX} ms at a time`, () => {
  const services = Array.from({ length: SERVICES }, (_, at) => {
    const taint = { key: `example.com/no-${at}`, value: '', effect: 'NoSchedule' as const };
    const origin = { kind: 'object' as const, uid: `u${at}`, generation: 1, createdAtMs: 1000 };
    return serviceOf(`s${at}`, { checks: [podsCheck('a')], publish: { taint }, origin });
  });
  const notReady = { state: 'not-ready' as const, reason: '', cause: 'evidence' as const, sinceMs: 0 };
  const readiness = new Map(services.map(({ name }) => [name, notReady]));
  const nodes = Array.from({ length: NODES }, (_, at): EvaluatedNode => {
    return { ageMs: 0, ...snapshot({ name: `n${at}`, taints: [], pods: [] }), readiness } as EvaluatedNode;
  });
  const options = {
    nodes: () => nodes as unknown as ObservedNode[],
    podsOn: () => [],
    evicts: false,
  };
  /** Milliseconds of CPU of the longest piece, and the services whose taint has a place on the first node then. */
  const look = () => {
    const budget = new TaintBudget(options);
    let slowestMs = 0;
    const piece = (work: () => void) => {
      const before = process.threadCpuUsage();
      work();
      const { user, system } = process.threadCpuUsage(before);
      slowestMs = Math.max(slowestMs, (user + system) / 1000);
    };
    for (const node of nodes) piece(() => budget.observe(services, node));
    piece(() => budget.takeWaiting());
    const open = services.filter((service) => nodes[0] && budget.withheld(service, nodes[0]) === undefined);
    return { slowestMs, open: open.length };
  };
  // Of two runs the quicker one: the garbage of others is collected as well.
  const runs = [look(), look()];
  expect(runs.map(({ open }) => open)).toEqual([SERVICES, SERVICES]);
  expect(Math.min(...runs.map(({ slowestMs }) => slowestMs))).toBeLessThan(PIECE_MS_MAX);
});
