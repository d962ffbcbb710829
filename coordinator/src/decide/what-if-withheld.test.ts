import { expect, test } from 'vitest';
import { registryOf } from '../model/keys/key-registry.test-fixtures.ts';
import { podsCheck, serviceOf } from '../model/services.test-fixtures.ts';
import type { Service } from '../model/services.ts';
import { intentOf } from './intent/intent.ts';
import { observed } from './intent/plan-node.test-fixtures.ts';
import { createLabelers } from './labelers/index.ts';
import type { EvaluatedNode } from './labelers/labeler.ts';
import { NOTHING_CONFIGURED } from './labelers/labelers.test-fixtures.ts';
import { snapshot } from './readiness/readiness.test-fixtures.ts';
import type { ServiceReadiness } from './readiness/tracker.ts';
import { WhatIf } from './what-if.ts';

const LABEL = 'example.com/a';
const TAINT = { key: 'example.com/no-a', value: '', effect: 'NoSchedule' } as const;
const origin = { kind: 'object', uid: 'u', generation: 1, createdAtMs: 0 } as const;

function changes(service: Service, readiness: ServiceReadiness, withheld: boolean, labels: Record<string, string>) {
  const options = {
    services: () => [service],
    keys: registryOf({ watchedServices: [service] }),
    ...NOTHING_CONFIGURED,
  };
  const seen = snapshot({
    taints: [],
    labels,
    annotations: { 'rollcall.dev/keys': JSON.stringify({ [`label:${LABEL}`]: 'service:u' }) },
  });
  const evaluated = { ...seen, readiness: new Map([['a', readiness]]), ageMs: 0 } as unknown as EvaluatedNode;
  const node = { ...observed({ ...labels }), annotations: seen.annotations, taints: [] };
  const withheldTaint = () => (withheld ? ({ stance: 'absent', reason: 'the taint waits' } as const) : undefined);
  const intent = intentOf(createLabelers({ ...options, withheldTaint } as never), evaluated);
  const other = serviceOf('b', {
    checks: [podsCheck('b')],
    publish: { label: 'example.com/b' },
    origin: { ...origin, uid: 'b' },
    nodeSelector: { matchLabels: { none: 'x' } } as never,
  });
  const services = [service, other];
  const proposal = {
    services,
    keys: registryOf({ watchedServices: services }),
    rules: undefined,
    poolLabelSet: () => undefined,
  };
  return new WhatIf(options as never, proposal, { monotonicMs: 0, wallMs: 0 }).changesOn({
    node,
    evaluated,
    intent,
  } as never);
}

test('a taint that waits is no change by another object', () => {
  const service = serviceOf('a', { checks: [podsCheck('a')], publish: { taint: TAINT }, origin });
  const notReady = { state: 'not-ready', reason: '', cause: 'evidence', sinceMs: 0 } as const;
  expect(changes(service, notReady, true, {})).toEqual([]);
});

test('a label that stays since it is unknown whether its service is for the node is no change by another object', () => {
  const service = serviceOf('a', {
    checks: [podsCheck('a')],
    publish: { label: LABEL },
    origin,
    nodeSelector: { matchLabels: { 'device.rollcall.dev/edgetpu': 'true' } } as never,
  });
  const undecided = { state: 'unknown', reason: '', cause: 'unknown', sinceMs: 0, isUndecided: true } as const;
  expect(changes(service, undecided, false, { [LABEL]: 'true' })).toEqual([]);
});
