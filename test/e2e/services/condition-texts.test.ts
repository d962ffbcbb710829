import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createNode, createPod, setPodReady } from '../../control-plane/cluster.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { type EmbeddedRig, startEmbeddedRig } from '../../rig/embedded-rig.ts';
import { ConditionHistory } from './condition-history.ts';
import { applyNodeServiceCrd, NODE_SERVICES, nodeService } from './node-services.ts';

// Reason and message of a published condition follow the state, although the status stays.

const TYPE = 'service.rollcall.dev/Both';
const APPS = ['left', 'right'] as const;
const NODE = 'n';
/** For the programs. */
const CLOCK_SPEED = 4;
const TEXTS_MS = 10_000 / CLOCK_SPEED;

let embedded: EmbeddedRig;
let history: ConditionHistory;

beforeAll(async () => {
  embedded = await startEmbeddedRig({
    prepare: applyNodeServiceCrd,
    nodes: 0,
    clockSpeed: CLOCK_SPEED,
    coordinatorArgs: ['--gitpod=false'],
  });
  const { api } = embedded.controlPlane;
  history = new ConditionHistory(api);
  await createNode(api, NODE);
  for (const app of APPS)
    await createPod(api, { namespace: 'default', name: app, nodeName: NODE, ready: true, labels: { app } });
  const checks = APPS.map((app) => ({
    name: app,
    pods: { namespace: 'default', selector: { matchLabels: { app } } },
  }));
  await api.post(NODE_SERVICES, nodeService('both', { checks, publish: { condition: TYPE } }));
});
afterAll(async () => {
  history?.stop();
  await embedded?.stop();
});

type App = (typeof APPS)[number];
const setReady = (app: App, ready: boolean) => setPodReady(embedded.controlPlane.api, 'default', app, ready);
const now = () => history.of(NODE, TYPE);

/** Exactly one of the two fails from now on; the status stays. */
async function failOnly(app: App): Promise<void> {
  await setReady(app, false);
  await setReady(app === 'left' ? 'right' : 'left', true);
}

const says = (app: App) =>
  waitFor(`the message to name ${app}`, () => now()?.message?.includes(`default/${app}`) === true, {
    timeoutMs: 30_000,
  });

test('the message names the check that fails now, and the last transition stays', async () => {
  await history.until(NODE, TYPE, 'True');
  await setReady('left', false);
  await history.until(NODE, TYPE, 'False');
  await says('left');
  const transition = now()?.lastTransitionTime;
  // Times of conditions have seconds.
  await sleep(1500);
  for (const app of ['right', 'left'] as const) {
    const fromMs = performance.now();
    await failOnly(app);
    await says(app);
    expect(history.since(fromMs, TYPE).map(({ to }) => [to?.status, to?.lastTransitionTime])).toEqual([
      ['False', transition],
    ]);
  }
  await failOnly('left');
  await setReady('left', true);
  await history.until(NODE, TYPE, 'True');
  expect(now()?.lastTransitionTime).not.toBe(transition);
});

test('texts alone are written once in 10 s on a node, and a status at once', async () => {
  await setReady('left', false);
  await history.until(NODE, TYPE, 'False');
  const fromMs = performance.now();
  for (let flips = 0; flips < 12; flips += 1) {
    await failOnly(flips % 2 === 0 ? 'right' : 'left');
    await sleep(TEXTS_MS / 5);
  }
  const changes = history.since(fromMs, TYPE);
  const tookMs = performance.now() - fromMs;
  expect(changes.length).toBeGreaterThan(0);
  expect(changes.length).toBeLessThanOrEqual(Math.ceil(tookMs / TEXTS_MS));
  const gaps = changes.slice(1).map(({ atMs }, index) => atMs - (changes[index]?.atMs ?? 0));
  for (const gapMs of gaps) expect(gapMs).toBeGreaterThan(TEXTS_MS * 0.9);
  await failOnly('right');
  await says('right');
  const backMs = performance.now();
  await setReady('right', true);
  await history.until(NODE, TYPE, 'True');
  expect(performance.now() - backMs).toBeLessThan(TEXTS_MS / 2);
});
