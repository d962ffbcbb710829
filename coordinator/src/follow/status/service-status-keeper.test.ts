import { FakeClock } from '@rollcall/common/fake-clock.ts';
import { silentLogger } from '@rollcall/common/logging.ts';
import { expect, test } from 'vitest';
import type { ObservedPod } from '../../fleet/observed-pod.ts';
import { PodsByNamespace } from '../../fleet/pods-by-namespace.ts';
import type { Refusal } from '../../services/acceptance.ts';
import type { ObservedNodeService } from '../../services/node-service.ts';
import type { ServiceStatus } from './service-status.ts';
import { createServiceStatusKeeper } from './service-status-keeper.ts';

/** The keeper of one NodeService whose pods are in a namespace. */
function stage() {
  const clock = new FakeClock();
  const servicePods = new PodsByNamespace<ObservedPod>({ onChange: () => {}, onKnown: () => {} });
  const service = { name: 'a', pods: { namespace: 'apps', selector: {} }, publish: {} };
  const object = { name: 'a', uid: 'u', generation: 1, service } as unknown as ObservedNodeService;
  const now: { refusal: Refusal | undefined; problem: string | undefined } = { refusal: undefined, problem: undefined };
  const written: ServiceStatus[] = [];
  const keeper = createServiceStatusKeeper({
    catalog: {
      objects: () => [object],
      refusalOf: () => now.refusal,
      noteStatus: (_name: string, status: ServiceStatus) => {
        Object.assign(object, { status });
        written.push(status);
      },
    } as never,
    decider: {
      tally: { count: () => ({ ready: 1, 'not-ready': 0, unknown: 0 }) },
      firstTaints: { provenTaint: () => undefined },
      statusNoted: () => {},
      fleet: { servicePods, term: { isYoung: () => false } },
    } as never,
    problemOf: () => now.problem,
    client: { request: async () => ({}) as never },
    fence: { remainingMs: () => 10_000 },
    record: () => {},
    clock,
    logger: silentLogger(),
  });
  const tick = async () => {
    await clock.advance(1000);
    await keeper.tick();
    return written.splice(0).map(({ conditions: [accepted] }) => accepted?.status);
  };
  return { tick, now, servicePods };
}

test('a service is not said to be accepted before its pods are known, which may not tolerate its taint', async () => {
  const { tick, servicePods } = stage();
  expect(await tick()).toEqual([]);
  const handlers = servicePods.handlers('apps');
  expect(await tick()).toEqual([]);
  handlers.onReplace([]);
  expect(await tick()).toEqual(['True']);
});

test('a status stays as it is while the pods of its service are listed anew', async () => {
  const { tick, now, servicePods } = stage();
  now.refusal = { reason: 'TaintNotTolerated', message: 'm' };
  servicePods.handlers('apps').onReplace([]);
  expect(await tick()).toEqual(['False']);
  // Another service asks for pods in the same namespace.
  const handlers = servicePods.handlers('apps');
  now.refusal = undefined;
  expect(await tick()).toEqual([]);
  handlers.onReplace([]);
  expect(await tick()).toEqual(['True']);
});

test.each([
  ['it is refused for something else', { refusal: { reason: 'KeyTaken', message: 'm' } }],
  ['its pods may not be watched', { problem: 'not permitted' }],
])('what is known does not wait for pods: %s', async (_what, change) => {
  const { tick, now } = stage();
  Object.assign(now, change);
  expect(await tick()).toEqual(['False']);
});
