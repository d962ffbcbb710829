import { FakeClock } from '@rollcall/common/fake-clock.ts';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { KubeStatusError } from '../../kube/client.ts';
import { ObjectStatusKeeper } from './object-status-keeper.ts';

test('an object that cannot be looked at does not keep later looks from being made', async () => {
  let isBroken = true;
  const written: string[] = [];
  const errors: string[] = [];
  const keeper = new ObjectStatusKeeper({
    kind: 'NodeHold',
    plural: 'nodeholds',
    objects: () => [{ uid: 'u', name: 'a', generation: 1, status: undefined }],
    statusOf: () => {
      if (isBroken) throw new Error('on purpose');
      return { conditions: [] };
    },
    noteStatus: (name) => written.push(name),
    client: { request: async () => ({}) as never },
    fence: { remainingMs: () => 1000 },
    record: () => {},
    clock: new FakeClock(),
    logger: pino({}, { write: (line: string) => errors.push(JSON.parse(line).msg) }),
  });
  await keeper.tick();
  isBroken = false;
  await keeper.tick();
  expect(written).toEqual(['a']);
  expect(errors).toEqual(['Failed to look at the objects of a kind']);
});

test('the log tells of a status that cannot be written once, and of an object that is gone when it fails again', async () => {
  const lines: string[] = [];
  let status = 404;
  const clock = new FakeClock();
  const keeper = new ObjectStatusKeeper({
    kind: 'NodeHold',
    plural: 'nodeholds',
    objects: () => [{ uid: 'u', name: 'a', generation: 1, status: undefined }],
    statusOf: () => ({ conditions: [] }),
    noteStatus: () => {},
    client: {
      request: async () => {
        throw new KubeStatusError(status, {}, undefined, {});
      },
    },
    fence: { remainingMs: () => 1000 },
    record: () => {},
    clock,
    logger: pino({}, { write: (line: string) => lines.push(JSON.parse(line).msg) }),
  });
  await keeper.tick();
  expect(lines).toEqual([]);
  for (status of [409, 500, 500]) {
    await clock.advance(10_000);
    await keeper.tick();
    expect(lines).toEqual(['Failed to write the status of an object']);
  }
});
