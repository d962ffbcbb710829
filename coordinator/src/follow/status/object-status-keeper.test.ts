import { FakeClock } from '@rollcall/common/fake-clock.ts';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { KubeStatusError } from '../../kube/client.ts';
import { ObjectStatusKeeper } from './object-status-keeper.ts';

type Kept = { uid: string; name: string };

/** A keeper of objects of these names. `answer` is what the API server's status is, 200 where all is well. */
function started(names: readonly string[], { look = (_object: Kept) => ({}), answer = () => 200 as number } = {}) {
  const clock = new FakeClock();
  const written: string[] = [];
  const logged: string[] = [];
  const keeper = new ObjectStatusKeeper<Kept, object>({
    kind: 'NodeHold',
    path: ({ name }) => `/${name}/status`,
    objects: () => names.map((name) => ({ uid: name, name })),
    look: () => look,
    statusNow: () => undefined,
    tellingOf: () => undefined,
    noteStatus: (name) => written.push(name),
    client: {
      async request() {
        const status = answer();
        if (status !== 200) throw new KubeStatusError(status, {}, undefined, {});
        return {} as never;
      },
    },
    fence: { remainingMs: () => 1000 },
    record: () => {},
    clock,
    logger: pino({}, { write: (line: string) => logged.push(JSON.parse(line).msg) }),
  });
  return { keeper, clock, written, logged };
}

test('an object that cannot be looked at keeps no other from being looked at, nor itself later', async () => {
  let isBroken = true;
  const look = ({ name }: Kept) => {
    if (isBroken && name === 'a') throw new Error('on purpose');
    return {};
  };
  const { keeper, clock, written, logged } = started(['a', 'b'], { look });
  await keeper.tick();
  expect(written).toEqual(['b']);
  isBroken = false;
  await clock.advance(1000);
  await keeper.tick();
  expect(written).toEqual(['b', 'a', 'b']);
  expect(logged).toEqual(['Failed to look at an object']);
});

test('the log tells of a status that cannot be written once, and of an object that is gone when it fails again', async () => {
  let status = 404;
  const { keeper, clock, logged } = started(['a'], { answer: () => status });
  await keeper.tick();
  expect(logged).toEqual([]);
  for (status of [409, 500, 500]) {
    await clock.advance(60_000);
    await keeper.tick();
    expect(logged).toEqual(['Failed to write the status of an object']);
  }
});
