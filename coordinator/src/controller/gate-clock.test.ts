import { STARTUP_TAINT } from '@rollcall/common/well-known.ts';
import { expect, test } from 'vitest';
import { stage } from './node-controller.test-fixtures.ts';

const MAX_WAIT_MS = 600_000;
const HALF_AN_HOUR_MS = 1_800_000;

/** A controller whose nodes wait behind the startup gate for a label that never comes. */
function gated() {
  const startupGate = { requires: ['example.com/a'], maxWaitMs: MAX_WAIT_MS };
  const staged = stage({ startupGate, services: () => [] });
  const { fleet, controller, clock } = staged;
  const taints = [{ key: STARTUP_TAINT, effect: 'NoSchedule' as const }];
  /** `createdMs`: by the clock of the API server. */
  const addGated = (name: string, createdMs: number) => {
    const creationTimestamp = new Date(createdMs).toISOString();
    const metadata = { name, uid: name, resourceVersion: '1', creationTimestamp };
    fleet.nodeHandlers.onUpsert(fleet.observe({ metadata, spec: { taints }, status: {} }));
  };
  const isOpen = (name = 'n') => controller.prepare(name)?.taints?.remove?.includes(STARTUP_TAINT) === true;
  /** When the gate opens, in milliseconds from now. */
  const opensAfterMs = async (name = 'n') => {
    const startMs = clock.monotonic();
    while (!isOpen(name) && clock.monotonic() - startMs < 2 * HALF_AN_HOUR_MS) await clock.advance(10_000);
    return clock.monotonic() - startMs;
  };
  return { ...staged, addGated, isOpen, opensAfterMs };
}

test.each([
  ['right', 0],
  ['half an hour slow', -HALF_AN_HOUR_MS],
  ['half an hour fast', HALF_AN_HOUR_MS],
])('the gate of a new Node opens after the maximum wait time while the wall clock is %s', async (_how, offMs) => {
  const { controller, fleet, clock, addGated, opensAfterMs } = gated();
  fleet.nodeHandlers.onReplace([]);
  const serverMs = clock.now();
  clock.jumpWallClock(offMs);
  controller.beginTerm();
  addGated('n', serverMs);
  expect(await opensAfterMs()).toBe(MAX_WAIT_MS);
});

test.each([
  ['slow', -HALF_AN_HOUR_MS, MAX_WAIT_MS],
  ['right', 0, MAX_WAIT_MS - 60_000],
])('a new leader whose wall clock is %s opens the gate of a Node of a minute in time', async (_how, offMs, afterMs) => {
  const { controller, clock, addGated, opensAfterMs } = gated();
  addGated('n', clock.now() - 60_000);
  clock.jumpWallClock(offMs);
  controller.beginTerm();
  expect(await opensAfterMs()).toBe(afterMs);
});

test('a new leader opens the gate of an old Node at once', () => {
  const { controller, clock, addGated, isOpen } = gated();
  addGated('n', clock.now() - MAX_WAIT_MS);
  controller.beginTerm();
  expect(isOpen()).toBe(true);
});

test('a step of the wall clock opens no gate, and keeps none closed', async () => {
  const { controller, clock, addGated, isOpen, opensAfterMs } = gated();
  addGated('there', clock.now());
  controller.beginTerm();
  addGated('n', clock.now());
  await clock.advance(60_000);
  clock.jumpWallClock(HALF_AN_HOUR_MS);
  expect([isOpen('there'), isOpen('n')]).toEqual([false, false]);
  clock.jumpWallClock(-2 * HALF_AN_HOUR_MS);
  expect(await opensAfterMs('there')).toBe(MAX_WAIT_MS - 60_000);
  expect(isOpen('n')).toBe(true);
});

test.each([
  ['forward', HALF_AN_HOUR_MS],
  ['back', -HALF_AN_HOUR_MS],
])(
  'the gate of a Node that came while the process stood by opens in time, although its wall clock was set %s',
  async (_how, stepMs) => {
    const { controller, fleet, clock, addGated, opensAfterMs } = gated();
    fleet.nodeHandlers.onReplace([]);
    addGated('n', clock.now());
    await clock.advance(60_000);
    clock.jumpWallClock(stepMs);
    controller.beginTerm();
    expect(await opensAfterMs()).toBe(MAX_WAIT_MS - 60_000);
  },
);
