import { Writable } from 'node:stream';
import { WS_DAEMON } from '@rollcall/common/well-known.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { waitFor } from '../../control-plane/wait-for.ts';
import { Lab } from '../../scale/lab.ts';

const NODES = 30;
/** Number of agents that are rolled out at a time. */
const STEP = 3;

let lab: Lab;
beforeAll(async () => {
  lab = await Lab.open(new Writable({ write: (_chunk, _encoding, done) => done() }));
  await lab.grow(NODES);
  await lab.lead();
  await lab.fleet.report(lab.fleet.names, { ready: true, version: '1' });
  await lab.settled(2);
});
afterAll(() => lab?.stop());

const held = () => lab.coordinator.metric('rollcall_coordinator_guarded_nodes', { subject: 'agent-version' });

test('agents that are replaced by blind ones cost three nodes their labels, and no more', async () => {
  const { names } = lab.fleet;
  const lost = names.slice(0, STEP);
  await lab.fleet.report(lost, { ready: false, version: '2' });
  await lab.settled(0, lost);
  for (let done = STEP; done < NODES - 1; done += STEP) {
    await lab.fleet.report(names.slice(done, Math.min(done + STEP, NODES - 1)), { ready: false, version: '2' });
  }
  // Two services on each.
  const count = 2 * (NODES - 1 - STEP);
  await waitFor(`${count} labels to be held`, async () => (await held()) === count);
  await lab.settled(2, names.slice(STEP));
  const { services } = await lab.coordinator.explain(names[STEP] ?? '');
  expect(services.find(({ name }) => name === WS_DAEMON)).toMatchObject({
    state: 'unknown',
    reason: expect.stringMatching(
      /^Connection refused; held until .* since most agents that were replaced report the same/,
    ),
  });
  await waitFor('an Event about it', async () => {
    const events = await lab.cluster.api.list<{ metadata: { name: string }; reason?: string }>('/api/v1/events');
    return events.some(({ reason }) => reason === 'GuardActive');
  });
});

test('one that was not replaced is believed, and so are pods that are not Ready', async () => {
  const last = lab.fleet.names.at(-1) ?? '';
  await lab.fleet.report([last], { ready: false, version: '1' });
  await lab.settled(0, [last]);
  const one = lab.fleet.names[STEP] ?? '';
  await lab.fleet.setPodReady(WS_DAEMON, one, false);
  await lab.settled(1, [one]);
  await lab.fleet.setPodReady(WS_DAEMON, one, true);
});

test('all have their labels when the update is undone', async () => {
  await lab.fleet.report(lab.fleet.names, { ready: true, version: '1' });
  await lab.settled(2);
  await waitFor('nothing to be held', async () => (await held()) === 0);
});
