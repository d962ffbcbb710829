import { expect, test } from 'vitest';
import { podsCheck } from '../../model/services.test-fixtures.ts';
import type { ObservedPod } from '../../state/observed-pod.ts';
import { PodCollection } from '../../state/pod-collection.ts';
import type { Refusal } from '../../state/services/budgets.ts';
import type { ObservedNodeService } from '../../state/services/node-service.ts';
import { serviceSubject } from '../events/event-object.ts';
import type { ServiceStatus } from './service-status.ts';
import { createServiceStatusController } from './service-status-controller.ts';
import { statusControllerRig } from './status-controller.test-fixtures.ts';

/** The controller of one NodeService whose pods are in a namespace. */
function stage() {
  const { clock, requests, news, writes } = statusControllerRig();
  const servicePods = new PodCollection<ObservedPod>();
  const service = { name: 'a', checks: [podsCheck({ namespace: 'apps', selector: {} })], publish: {} };
  const object = { name: 'a', uid: 'u', generation: 1, service } as unknown as ObservedNodeService;
  const now = {
    isJudged: true,
    refusal: undefined as Refusal | undefined,
    problem: undefined as string | undefined,
  };
  const written: ServiceStatus[] = [];
  const facts = { isYoung: false, ready: 1 };
  const controller = createServiceStatusController({
    serviceRegistry: {
      all: {
        all: () => [object],
        noteStatus: (_object: unknown, status: ServiceStatus) => {
          Object.assign(object, { status });
          written.push(status);
        },
      },
      isJudged: () => now.isJudged,
      refusalOf: () => now.refusal,
    } as never,
    evaluator: {
      withheld: () => undefined,
      tally: {
        count: (name: string) => ({ ready: name === 'a' ? facts.ready : 0, 'not-ready': 0, unknown: 1 }),
        commonest: () => undefined,
      },
    } as never,
    fleet: { servicePods, term: { isYoung: () => facts.isYoung } } as never,
    problemOf: () => now.problem,
    isCounting: () => false,
    writes,
  });
  const tick = async () => {
    await clock.advance(1000);
    await controller.tick();
    return written.splice(0).map(({ conditions: [accepted] }) => accepted?.status);
  };
  return { tick, now, servicePods, facts, requests, news };
}

test('a service is not said to be accepted before its pods are known, which may not tolerate its taint', async () => {
  const { tick, servicePods } = stage();
  expect(await tick()).toEqual([]);
  const handlers = servicePods.handlers('apps');
  expect(await tick()).toEqual([]);
  handlers.onReplace([]);
  expect(await tick()).toEqual(['True']);
});

test('nothing is said of a service that has just been changed, before it is evaluated', async () => {
  const { tick, now, servicePods } = stage();
  servicePods.handlers('apps').onReplace([]);
  now.isJudged = false;
  expect(await tick()).toEqual([]);
  now.isJudged = true;
  expect(await tick()).toEqual(['True']);
});

test('a status stays as it is while the pods of its service are listed anew', async () => {
  const { tick, now, servicePods } = stage();
  now.refusal = { reason: 'KeyTaken', message: 'm' };
  servicePods.handlers('apps').onReplace([]);
  expect(await tick()).toEqual(['False']);
  // Another service asks for pods in the same namespace.
  servicePods.renew('apps');
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

test('the status is written to the NodeService, once', async () => {
  const { tick, servicePods, requests } = stage();
  servicePods.handlers('apps').onReplace([]);
  await tick();
  expect(requests).toMatchObject([
    {
      path: '/apis/rollcall.dev/v1alpha1/nodeservices/a/status',
      body: { metadata: { uid: 'u' }, status: { nodes: { ready: 1, unknown: 1 } } },
    },
  ]);
  await tick();
  expect(requests).toHaveLength(1);
});

test('the counts of a predecessor stay while a replica takes over', async () => {
  const { tick, servicePods, facts, requests } = stage();
  servicePods.handlers('apps').onReplace([]);
  await tick();
  facts.ready = 0;
  facts.isYoung = true;
  await tick();
  expect(requests).toHaveLength(1);
  facts.isYoung = false;
  await tick();
  expect(requests[1]?.body).toMatchObject({ status: { nodes: { ready: 0 } } });
});

test('a service that is not accepted gets an Event', async () => {
  const { tick, now, news } = stage();
  now.refusal = { reason: 'KeyTaken', message: 'm' };
  await tick();
  expect(news).toEqual([
    { subject: serviceSubject({ name: 'a', uid: 'u' }), type: 'Warning', reason: 'KeyTaken', message: 'm' },
  ]);
  expect(news[0]?.subject).toMatchObject({ kind: 'NodeService', name: 'a' });
});
