import { MANAGED_LABELS_ANNOTATION, STARTUP_TAINT, WITHDRAWN_LABELS_ANNOTATION } from '@rollcall/common/well-known.ts';
import { beforeAll, expect, test } from 'vitest';
import { carryOut, stage } from '../controller/node-controller.test-fixtures.ts';
import type { CoordinatorConfig } from '../model/config.ts';
import { KeyRegistry } from '../model/keys/key-registry.ts';
import { configured } from '../model/load.test-fixtures.ts';
import { listPoolLabels } from '../state/fleet.test-fixtures.ts';
import { evictionFor, fleetSettings, guardSettings, labelerSettings } from './settings.ts';

let context: CoordinatorConfig;

beforeAll(async () => {
  context = await configured();
});

const staged = (change: Partial<CoordinatorConfig>) => {
  const config = { ...context, ...change };
  return stage({
    ...labelerSettings(config, new KeyRegistry(config)),
    ...fleetSettings(config),
    ...guardSettings(config),
  });
};

/** What becomes of the label of `n`, one of ten nodes of which four fall silent for so many seconds. */
async function silentFor(seconds: number, change: Partial<CoordinatorConfig>): Promise<string> {
  const { addNode, servicePod, agentPod, report, pass, fate } = staged(change);
  const names = ['n', ...Array.from({ length: 9 }, (_, index) => `other-${index}`)];
  for (const node of names) {
    addNode(node);
    servicePod(node);
    agentPod({ uid: `agent-${node}`, node });
    report(`agent-${node}`, { node });
  }
  const meanwhile = () => {
    for (const node of names.slice(4)) report(`agent-${node}`, { node });
  };
  await pass(seconds, meanwhile);
  return fate();
}

test('an agent may be silent for the time that is configured', async () => {
  expect(await silentFor(44, { staleAfterSeconds: 45 })).toBe('kept');
  expect(await silentFor(45, { staleAfterSeconds: 45 })).toBe('withdrawn');
});

test('silence is not held against so many nodes as are configured', async () => {
  expect(await silentFor(40, { staleAfterSeconds: 30, fleetGuardPercent: 50 })).toBe('withdrawn');
  expect(await silentFor(40, { staleAfterSeconds: 30, fleetGuardPercent: 40 })).toBe('kept');
});

test('the startup gate waits for what is configured, and for that time', async () => {
  const { fleet, controller, clock } = staged({
    startupGateRequires: ['example.com/a'],
    startupGateMaxWaitSeconds: 60,
  });
  const metadata = {
    name: 'n',
    uid: 'u',
    resourceVersion: '1',
    creationTimestamp: new Date(clock.now()).toISOString(),
  };
  const taints = [{ key: STARTUP_TAINT, effect: 'NoSchedule' as const }];
  fleet.nodeHandlers.onUpsert(fleet.observe({ metadata, spec: { taints }, status: {} }));
  await clock.advance(59_999);
  expect(controller.prepare('n')?.taints).toBeUndefined();
  await clock.advance(1);
  expect(controller.prepare('n')?.taints).toMatchObject({ remove: [STARTUP_TAINT] });
});

test('many nodes keep the label of a pool for the time that is configured', async () => {
  const { evaluator, controller, fleet, clock } = staged({ massWithdrawalDelaySeconds: 90 });
  const names = Array.from({ length: 12 }, (_, index) => `n${index}`);
  for (const name of names) {
    const annotations = { [MANAGED_LABELS_ANNOTATION]: '["tier"]' };
    const metadata = { name, uid: name, resourceVersion: '1', labels: { tier: 'gold' }, annotations };
    fleet.nodeHandlers.onUpsert(fleet.observe({ metadata }));
  }
  listPoolLabels(fleet);
  for (const name of names) carryOut(controller, name);
  const held = () => evaluator.guards().map(({ nodes }) => nodes);
  expect(held()).toEqual([2]);
  await clock.advance(89_999);
  controller.tick();
  expect(held()).toEqual([2]);
  await clock.advance(1);
  controller.tick();
  expect(held()).toEqual([]);
});

/** The labels that are noted as withdrawn once an agent says that ws-daemon is gone. */
function noted(change: Partial<CoordinatorConfig>): string | undefined {
  const { addNode, servicePod, agentPod, report, queries } = staged(change);
  addNode('n');
  servicePod();
  agentPod({ uid: 'a' });
  report('a');
  report('a', { ready: false });
  return queries.explain('n')?.intent.get(`annotation:${WITHDRAWN_LABELS_ANNOTATION}`)?.value;
}

test('a withdrawn label of a service is noted where pods are evicted for it, and only there', () => {
  expect(noted({ evict: true, evictReadiness: true })).toContain('ws-daemon');
  expect(noted({ evict: true, evictReadiness: false })).toBeUndefined();
  expect(noted({ evict: false, evictReadiness: true })).toBeUndefined();
});

test('nothing is noted of labels of services that go because of what was configured', () => {
  const { isIgnored } = evictionFor({ evictReadiness: true }, new KeyRegistry(context));
  const label = { label: 'svc.example/gone', origin: 'service:uid' } as const;
  expect(isIgnored({ ...label, cause: 'configuration' })).toBe(true);
  expect(isIgnored({ ...label, cause: 'evidence' })).toBe(false);
  expect(isIgnored({ label: 'tier', origin: 'pool', cause: 'configuration' })).toBe(false);
});

test('a withdrawn label of no service is noted wherever pods are evicted', () => {
  for (const evictReadiness of [true, false]) {
    const { fleet, queries } = staged({ evict: true, evictReadiness });
    const managedFields = [
      {
        manager: 'rollcall',
        operation: 'Apply' as const,
        fieldsV1: { 'f:metadata': { 'f:labels': { 'f:tier': {} } } },
      },
    ];
    const metadata = { name: 'n', uid: 'u', resourceVersion: '1', labels: { tier: 'gold' }, managedFields };
    listPoolLabels(fleet);
    fleet.nodeHandlers.onUpsert(fleet.observe({ metadata }));
    const intent = queries.explain('n')?.intent;
    expect(intent?.get(`annotation:${WITHDRAWN_LABELS_ANNOTATION}`)?.value).toBe('{"tier":"gold"}');
  }
});

test('annotations that rollcall has no use for are kept only if changes of nodes are sent to a webhook', () => {
  for (const [notifyUrl, note] of [
    [[], undefined],
    [['https://example.com/hook'], 'theirs'],
  ] as const) {
    const { fleet } = staged({ notifyUrl: notifyUrl as never });
    const metadata = { name: 'n', uid: 'u', resourceVersion: '1', annotations: { 'example.com/note': 'theirs' } };
    fleet.nodeHandlers.onUpsert(fleet.observe({ metadata }));
    expect(fleet.node('n')?.annotations['example.com/note']).toBe(note);
  }
});
