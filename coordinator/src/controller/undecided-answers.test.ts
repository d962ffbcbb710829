import { expect, test } from 'vitest';
import { podsCheck, serviceOf } from '../model/services.test-fixtures.ts';
import { stage } from './node-controller.test-fixtures.ts';

const TAINT = { key: 'example.com/no-a', value: '', effect: 'NoSchedule' } as const;
const SERVICE = serviceOf('a', {
  checks: [podsCheck('a')],
  publish: { taint: TAINT },
  origin: { kind: 'object', uid: 'u', generation: 1, createdAtMs: 0 },
});

test('a replica that does not lead answers by the taints that Nodes have now', () => {
  const { queries, fleet } = stage({ services: () => [SERVICE], mayDecide: () => false });
  const show = (name: string, version: number, taints: object[] = []) =>
    fleet.nodeHandlers.onUpsert(
      fleet.observe({
        metadata: { name, uid: name, resourceVersion: `${version}` },
        spec: { taints },
        status: {},
      } as never),
    );
  show('n0', 1, [TAINT]);
  show('n1', 1);
  const stanceOn = (name: string) => queries.explain(name)?.intent.get(`taint:${TAINT.key}`)?.stance;
  expect(stanceOn('n1')).toBe('absent');
  show('n0', 2);
  expect(stanceOn('n1')).toBe('present');
  show('n0', 3, [TAINT]);
  expect(stanceOn('n1')).toBe('absent');
});
