import { expect, test } from 'vitest';
import { Holds } from '../../state/holds/holds.ts';
import type { ObservedNodeHold } from '../../state/holds/node-hold.ts';
import { createHoldStatusController } from './hold-status-controller.ts';
import { statusControllerRig } from './status-controller.test-fixtures.ts';

const NOW = '2026-01-01T00:00:01Z';
const SUBJECT = { apiVersion: 'rollcall.dev/v1alpha1', kind: 'NodeHold', name: 'jobs', uid: 'u' };

/** The controller of a NodeHold for the pods with `hold: jobs`; `tick` lets a second pass and returns what was written. */
function stage(change: Partial<ObservedNodeHold> = {}) {
  const { clock, requests, news, writes } = statusControllerRig();
  const holds = new Holds(clock);
  const hold: ObservedNodeHold = {
    ...{ uid: 'u', name: 'jobs', generation: 3, problem: undefined, status: undefined },
    pods: { namespace: 'ci', selector: { matchLabels: { hold: 'jobs' } } },
    ...change,
  };
  holds.all.handlers().onReplace([hold]);
  const now: { problem: string | undefined } = { problem: undefined };
  const controller = createHoldStatusController({
    holds,
    isNode: (name) => name !== 'gone',
    problemOf: () => now.problem,
    writes,
  });
  const tick = async () => {
    await clock.advance(1000);
    await controller.tick();
    return requests.splice(0);
  };
  return { holds, now, news, tick };
}

function pod(name: string, node: string, hold = 'jobs') {
  return { uid: `uid-${name}`, namespace: 'ci', name, labels: { hold }, node };
}

test('a hold is in force, and its status counts the nodes of the fleet that its pods are on', async () => {
  const { holds, tick, news } = stage();
  const pods = [pod('a', 'n1'), pod('b', 'n1'), pod('c', 'n2'), pod('d', 'gone'), pod('e', 'n3', 'other')];
  holds.pods.handlers('ci').onReplace(pods);
  const message = 'Nodes with such pods are protected';
  const accepted = { type: 'Ready', status: 'True', reason: 'InForce', message };
  expect(await tick()).toEqual([
    {
      method: 'PATCH',
      path: '/apis/rollcall.dev/v1alpha1/nodeholds/jobs/status',
      query: { fieldManager: 'rollcall' },
      body: {
        metadata: { uid: 'u' },
        status: {
          observedGeneration: 3,
          nodesHeld: 2,
          conditions: [{ ...accepted, lastTransitionTime: NOW, observedGeneration: 3 }],
        },
      },
      contentType: 'application/merge-patch+json',
      timeoutMs: 10_000,
    },
  ]);
  expect(await tick()).toEqual([]);
  expect(news).toEqual([]);
});

test('a hold with an unknown field is not in force, whatever else is wrong', async () => {
  const { now, tick, news } = stage({
    problem: 'spec.nodes is not known to this version of rollcall',
    pods: undefined,
  });
  now.problem = 'Pods cannot be watched';
  const message = 'spec.nodes is not known to this version of rollcall. Until then, no node is released';
  const verdict = { reason: 'UnknownField', message };
  const [request] = await tick();
  expect(request?.body).toMatchObject({
    status: {
      nodesHeld: 0,
      conditions: [
        { type: 'Ready', status: 'False', ...verdict },
        { type: 'Stalled', status: 'True', ...verdict },
      ],
    },
  });
  expect(news).toEqual([{ subject: SUBJECT, type: 'Warning', ...verdict }]);
});

test('a hold whose pods may not be watched reports that, and when they may', async () => {
  const { now, tick, news } = stage();
  now.problem = 'Pods in ci cannot be watched';
  const message = 'Pods in ci cannot be watched. Until then, no node is released';
  const [request] = await tick();
  expect(request?.body).toMatchObject({
    status: {
      conditions: [
        { status: 'False', reason: 'NotPermitted', message, lastTransitionTime: NOW },
        { type: 'Stalled', status: 'True' },
      ],
    },
  });
  now.problem = undefined;
  const [mended] = await tick();
  expect(mended?.body).toMatchObject({ status: { conditions: [{ status: 'True' }] } });
  expect(news.map(({ type, reason }) => `${type} ${reason}`)).toEqual(['Warning NotPermitted', 'Normal InForce']);
});
