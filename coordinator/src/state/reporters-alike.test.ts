import { expect, test } from 'vitest';
import { serviceOf } from '../model/services.test-fixtures.ts';
import type { ConditionCheck } from '../model/services.ts';
import { agentPod } from './fleet.test-fixtures.ts';
import { nodeRecord } from './node-record.test-fixtures.ts';
import { doubtsOfReporters } from './reporters.ts';

const check = (id: string): ConditionCheck => ({
  name: 'kernel',
  kind: 'condition',
  id,
  settings: {
    type: 'KernelHealthy',
    status: 'True',
    missing: 'Unknown',
    reporter: { namespace: 'kube-system', selector: { matchLabels: { app: 'npd' } } },
  },
});

test.each([
  ['a first', false],
  ['b first', true],
])('services that check the same on other nodes have one guard over all of these nodes: %s', (_what, isReversed) => {
  const records = Array.from({ length: 15 }, (_, at) => nodeRecord(`n${at}`, `n${at}`));
  const dead = new Set<string>();
  const [a, b] = [check('a/kernel'), check('b/kernel')];
  const labelOf = (node: string) => (Number(node.slice(1)) < 10 ? 'a' : 'b');
  const services = [
    serviceOf('a', { checks: [a], nodeSelector: { matchLabels: { of: 'a' } } as never }),
    serviceOf('b', { checks: [b], nodeSelector: { matchLabels: { of: 'b' } } as never }),
  ];
  if (isReversed) services.reverse();
  const reporters = doubtsOfReporters(
    {
      windowMs: 30_000,
      guardPercent: 55,
      services: () => services,
      sight: (node) => ({
        labels: { of: labelOf(node) },
        owned: { labels: new Set(), annotations: new Set() },
        uid: node,
        annotations: {},
        createdAtMs: 0,
        conditions: [],
        pods: [
          agentPod(`npd-${node}`, node, {
            namespace: 'kube-system',
            labels: { app: 'npd' },
            ready: !dead.has(node),
            terminating: false,
          }),
        ],
      }),
      onChange: () => {},
    },
    () => records,
  );
  const tick = (ms: number) => reporters.tick({ monotonicMs: ms, wallMs: ms });
  tick(0);
  // 10 of 15 reporters die: 66 %.
  for (const { name } of records.slice(0, 10)) dead.add(name);
  for (let ms = 1000; ms <= 40_000; ms += 1000) tick(ms);
  const guardOf = (at: number) => reporters.of(a, records[at] as never).guard;
  expect(guardOf(0)).toBe('fleet');
  expect(reporters.held().map(({ nodes }) => nodes)).toContain(10);
});
