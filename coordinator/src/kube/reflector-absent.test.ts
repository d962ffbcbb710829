import { CodedError } from '@rollcall/common/coded-error.ts';
import { silentLogger } from '@rollcall/common/logging.ts';
import { FakeClock } from '@rollcall/common/testing/fake-clock.ts';
import { expect, test } from 'vitest';
import { type KubeClient, KubeStatusError } from './client.ts';
import type { KubeObject } from './objects.ts';
import { createReflector } from './reflector.ts';

const GROUP = '/apis/example.com';
const THINGS = `${GROUP}/v1alpha1/namespaces/a/things`;
const LIST = { metadata: { resourceVersion: '10' }, items: [] };

const group = (...versions: string[]) => ({ versions: versions.map((version) => ({ version })) });
const resources = (...names: string[]) => ({ resources: names.map((name) => ({ name })) });

type Answers = Record<string, unknown>;

/** A reflector of things, on an API server with these answers by path; to all else it answers 404. */
async function started(answers: Answers) {
  const clock = new FakeClock();
  const stop = new AbortController();
  const told: string[] = [];
  const asked: string[] = [];
  const now = { answers };
  const client: KubeClient = {
    async request<T>({ path }: { path: string }): Promise<T> {
      asked.push(path);
      const answer = now.answers[path];
      if (answer instanceof Error) throw answer;
      if (answer === undefined) throw new KubeStatusError(404, {}, undefined, {});
      return answer as T;
    },
    stream: ({ signal }) => new Promise((resolve) => signal?.addEventListener('abort', () => resolve())),
    close: () => {},
  };
  const reflector = createReflector<KubeObject>({
    client,
    path: THINGS,
    clock,
    random: () => 0.5,
    signal: stop.signal,
    absentIsEmpty: true,
    logger: {
      ...silentLogger(),
      warn: ({ hint }: { hint?: string }) => void told.push(`warned: ${hint}`),
      info: (_: unknown, text: string) => void told.push(text),
    } as never,
    handlers: {
      onReplace: (all) => told.push(`all ${all.length}`),
      onUpsert: () => {},
      onDelete: () => {},
      onLost: () => told.push('lost'),
    },
  });
  void reflector.run();
  await clock.advance(60_000);
  return { clock, told, asked, reflector, stop, now };
}

const EMPTY = ['Resource not served; treating it as empty', 'all 0'];
const OTHER_VERSION =
  'warned: The API server knows things, but does not serve them in the version v1alpha1: run a version of rollcall that uses one that is served';

test.each<[string, Answers]>([
  ['its group is not served', {}],
  [
    'no version of its group has it',
    {
      [GROUP]: group('v1', 'v1alpha1'),
      [`${GROUP}/v1`]: resources('others'),
      [`${GROUP}/v1alpha1`]: resources('things/status'),
    },
  ],
])('a resource counts as empty where %s', async (_what, answers) => {
  const { told, reflector, stop } = await started(answers);
  expect(told).toEqual(EMPTY);
  expect([reflector.hasSynced(), reflector.isFailing()]).toEqual([true, false]);
  stop.abort();
});

test('of a resource that only another version of its group has nothing is known, and people are told what to do, once', async () => {
  const answers = {
    [GROUP]: group('v1', 'v1beta1'),
    [`${GROUP}/v1`]: resources('others'),
    [`${GROUP}/v1beta1`]: resources('things'),
  };
  const { told, reflector, clock, now, stop } = await started(answers);
  expect(new Set(told)).toEqual(new Set(['lost', OTHER_VERSION]));
  expect(told.filter((each) => each === OTHER_VERSION)).toHaveLength(1);
  expect([reflector.hasSynced(), reflector.hasTried(), reflector.isFailing()]).toEqual([false, true, true]);
  told.length = 0;
  now.answers = { ...answers, [THINGS]: LIST };
  await clock.advance(10_000);
  expect(told).toEqual(['Recovered the list or watch', 'all 0']);
  expect(reflector.isFailing()).toBe(false);
  stop.abort();
});

test('a resource that was there and is served in another version only is lost, and not empty', async () => {
  const { told, reflector, clock, now, stop } = await started({ [THINGS]: LIST });
  expect(told.splice(0)).toEqual(['all 0']);
  now.answers = { [GROUP]: group('v1'), [`${GROUP}/v1`]: resources('things') };
  reflector.relist();
  await clock.advance(60_000);
  expect(told).not.toContain('all 0');
  expect(told.slice(0, 2)).toEqual(['lost', OTHER_VERSION]);
  stop.abort();
});

test('a resource that counted as empty does so no more when another version of it is served', async () => {
  const { told, reflector, clock, now, stop } = await started({});
  told.length = 0;
  now.answers = { [GROUP]: group('v1'), [`${GROUP}/v1`]: resources('things') };
  await clock.advance(60_000);
  expect(told.slice(0, 2)).toEqual(['lost', OTHER_VERSION]);
  now.answers = {};
  told.length = 0;
  await clock.advance(60_000);
  expect(told).toEqual(['Recovered the list or watch', ...EMPTY]);
  expect(reflector.isFailing()).toBe(false);
  stop.abort();
});

test.each<[string, unknown]>([
  ['fails', new KubeStatusError(503, {}, undefined, {})],
  ['is refused', new KubeStatusError(403, {}, undefined, {})],
  ['does not reach it', new CodedError('KUBE_UNREACHABLE', 'on purpose')],
  ['is no answer', {}],
])('nothing is known of a resource while the question for its group %s', async (_what, answer) => {
  const { told, reflector, stop } = await started({ [GROUP]: answer });
  expect(told).not.toContain('all 0');
  expect([reflector.hasSynced(), reflector.isFailing()]).toEqual([false, true]);
  stop.abort();
});

test('nothing is known of a resource while a version that its group lists is not served', async () => {
  const { told, reflector, stop } = await started({ [GROUP]: group('v1alpha1') });
  expect(told).not.toContain('all 0');
  expect(reflector.isFailing()).toBe(true);
  stop.abort();
});

test('a new list that is asked for while the group is asked about counts, whatever that says', async () => {
  const { told, reflector, clock, now, stop } = await started({});
  told.length = 0;
  const answer = Promise.withResolvers<unknown>();
  now.answers = { [GROUP]: answer.promise };
  await clock.advance(60_000);
  now.answers = { [THINGS]: LIST };
  reflector.relist();
  answer.resolve(group());
  await clock.advance(0);
  expect(told).toEqual(['all 0']);
  expect(reflector.hasRelisted()).toBe(true);
  stop.abort();
});
