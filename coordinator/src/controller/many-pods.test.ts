import { expect, test } from 'vitest';
import { podsCheck, probeCheck, publishing, serviceOf } from '../model/services.test-fixtures.ts';
import { observePod } from '../state/observed-pod.ts';
import { stage } from './node-controller.test-fixtures.ts';

const PODS = 4000;
const SERVICES = 60;

/** A node with pods, all of which all services select by requirements of their own. */
function crowded({ ofOneDaemonSet = false } = {}) {
  const services = Array.from({ length: SERVICES }, (_, index) =>
    serviceOf(`s${index}`, {
      checks: [
        podsCheck({
          namespace: 'default',
          selector: {
            matchLabels: { app: 'a' },
            matchExpressions: [{ key: `not-${index}`, operator: 'DoesNotExist' }],
          },
        }),
        probeCheck(`s${index}`),
      ],
      publish: publishing(`example.com/s${index}`, `example.com/not-s${index}`),
    }),
  );
  const staged = stage({ services: () => services });
  staged.addNode('n');
  const pods = staged.fleet.servicePods.handlers('default');
  const podOf = (index: number, labels: Record<string, string>) =>
    observePod({
      metadata: {
        ...{ name: `p${index}`, uid: `p${index}`, namespace: 'default', resourceVersion: '1', labels },
        creationTimestamp: new Date(staged.clock.now() + 1000).toISOString(),
        ...(ofOneDaemonSet ? { ownerReferences: [{ kind: 'DaemonSet', name: 'd', uid: 'd', controller: true }] } : {}),
      },
      spec: { nodeName: 'n' },
      status: { podIP: `10.0.${index >> 8}.${index & 255}`, conditions: [{ type: 'Ready', status: 'True' }] },
    });
  pods.onReplace(Array.from({ length: PODS }, (_, index) => podOf(index, { app: 'a', name: `p${index}` })));
  return { ...staged, pods, podOf };
}

/** With these labels no service but one selects a pod. */
const OTHERS_NOT = Object.fromEntries(
  Array.from({ length: SERVICES }, (_, index) => [`not-${index}`, '']).filter(([key]) => key !== 'not-7'),
);

/** CPU time of a change, in ms: the mean of many. */
function cpuMs(count: number, change: (index: number) => void): number {
  for (let index = 0; index < 5; index += 1) change(index);
  const before = process.cpuUsage();
  for (let index = 0; index < count; index += 1) change(index);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000 / count;
}

test('a change that one service selects by costs what that service costs', () => {
  const { pods, podOf } = crowded();
  const ms = cpuMs(100, (index) =>
    pods.onUpsert(podOf(7, { ...OTHERS_NOT, ...(index % 2 === 0 ? { app: 'a' } : {}) })),
  );
  expect(ms).toBeLessThan(8);
});

test.each([false, true])(
  'a change that all services select by holds the loop for a few milliseconds (DaemonSet: %s)',
  (ofOneDaemonSet) => {
    const { pods, podOf, evaluated } = crowded({ ofOneDaemonSet });
    const ms = cpuMs(50, (index) => pods.onUpsert(podOf(7, { name: 'p7', ...(index % 2 === 0 ? {} : { app: 'a' }) })));
    expect(evaluated()?.readiness.get('s1')).toBeDefined();
    expect(ms).toBeLessThan(60);
  },
);
