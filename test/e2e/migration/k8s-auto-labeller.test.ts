import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createNode } from '../../control-plane/cluster.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import type { NodeState } from '../gitpod/node-states.ts';
import { impliedIn } from '../hardware/rule-stage.ts';
import { MigrationStage } from './migration-stage.ts';

// The steps of packages/docs/how-to/migrate.md, on a cluster as adaptant's k8s-auto-labeller leaves it, and k8s-node-label-monitor,
// which writes nothing.

type Message = { node: string; labelsAdded: Record<string, string>; labelsDeleted: string[] };

const TPU = 'accelerators/edgetpu';
/** Keys of a Coral before and after its first use. The predecessor knew only the first. */
const NEW = 'feature.node.kubernetes.io/usb-fe_1a6e_089a.present';
const USED = 'feature.node.kubernetes.io/usb-ff_18d1_9302.present';
const NFD = 'nfd-master';

/** Devices, and whether the predecessor has set its label. */
const NODES: Record<string, [Record<string, string>, boolean]> = {
  right: [{ [NEW]: 'true' }, true],
  stale: [{}, true],
  missed: [{ [USED]: 'true' }, false],
  kept: [{}, true],
};
const [names, labelled] = [Object.keys(NODES), ['right', 'stale', 'kept']];

let stage: MigrationStage;
let receiver: Server;
let config: { notifyUrl: string[]; staleAfterSeconds: number };
const messages: Message[] = [];
beforeAll(async () => {
  receiver = createServer(async (request, response) => {
    const chunks = await request.toArray();
    messages.push(JSON.parse(Buffer.concat(chunks as Buffer[]).toString()) as Message);
    response.end();
  });
  await new Promise<void>((done) => receiver.listen(0, '127.0.0.1', done));
  const notifyUrl = [`http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`];
  // For so long a node may have an agent that was not heard yet, and its own label of the device.
  config = { notifyUrl, staleAfterSeconds: 5 };
  stage = await MigrationStage.start();
  for (const [name, [devices, isLabelled]] of Object.entries(NODES)) {
    // Marked by a person before: whatever changes later is told to the receiver.
    await createNode(stage.api, name, name === 'kept' ? { labels: { 'example.com/kept': 'true' } } : {});
    await stage.patch(name, NFD, { metadata: { labels: devices } });
    if (!isLabelled) continue;
    await stage.put(name, 'k8s-auto-labeller', ({ metadata }) => {
      metadata.labels = { ...metadata.labels, [TPU]: 'true' };
    });
  }
});
afterAll(async () => {
  await stage?.stop();
  receiver?.close();
});

/** Values of the label, one after the other. */
function valuesIn(states: readonly NodeState[]): (string | undefined)[] {
  const values = states.map(({ labels }) => labels[TPU]);
  return values.filter((value, index) => index === 0 || value !== values[index - 1]);
}

describe('step by step', () => {
  test('beside the predecessor only what it has not seen is planned', async () => {
    await stage.lookOn(config);
    await expect.poll(() => stage.planned(), { timeout: 10_000 }).toEqual(['missed']);
  });

  test('after the change over, its labels belong to another client, right or not', async () => {
    const since = labelled.map((name) => stage.states.mark(name));
    await stage.takeOver();
    await stage.states.until('missed', 'to be labelled', ({ labels }) => labels[TPU] === 'true');
    await expect.poll(() => stage.planned(), { timeout: 10_000 }).toEqual([]);
    for (const states of since) expect(valuesIn(states())).toEqual(['true']);
    const { keys } = await (await stage.rig.leader()).explain('right');
    expect(keys.find(({ key }) => key === TPU)?.reason).toContain('set by another client');
  });

  test('removed once, a label comes back at once where it is true, and not where it is not', async () => {
    const since = stage.states.mark('right');
    await stage.follow("kubectl label nodes -l '!example.com/kept' LABEL-", { LABEL: TPU });
    for (const name of ['right', 'missed']) {
      await stage.states.until(name, 'to be labelled', (state) => state.labels[TPU] === 'true');
      await stage.states.until(name, 'to be taken over', (state) => impliedIn(state.annotations).includes(TPU));
    }
    await expect.poll(() => stage.planned(), { timeout: 10_000 }).toEqual([]);
    expect(valuesIn(since())).toEqual(['true', undefined, 'true']);
    expect(stage.states.last('stale')?.labels).not.toHaveProperty([TPU]);
  });

  test('from then on it goes with the device, and one that was not removed stays for ever', async () => {
    await stage.patch('right', NFD, { metadata: { labels: { [NEW]: null } } });
    await stage.states.until(
      'right',
      'to lose it',
      (state) => !(TPU in state.labels) && impliedIn(state.annotations).length === 0,
    );
    expect(stage.states.last('kept')?.labels).toHaveProperty([TPU], 'true');
  });
});

test('a receiver of k8s-node-label-monitor is told nothing by who only looks on, then all of a node, then what changes', async () => {
  const of = (name: string) => messages.filter(({ node }) => node === name);
  await waitFor('word of every node', () => names.every((name) => of(name).length > 0));
  expect(of('kept')).toHaveLength(1);
  for (const { labelsAdded } of of('kept')) expect(labelsAdded).toMatchObject({ [TPU]: 'true' });
  await waitFor('word of the label that went', () => of('right').at(-1)?.labelsDeleted.includes(TPU));
});
