import { expect, test } from 'vitest';
import { KubeStatusError } from './client.ts';
import { readWatchEvent } from './reflector-failure.ts';

const object = { metadata: { name: 'n', uid: 'u', resourceVersion: '1' } };

function failureOf(line: unknown): unknown {
  try {
    return readWatchEvent(line);
  } catch (error) {
    return error;
  }
}

test.each(['ADDED', 'MODIFIED', 'DELETED', 'BOOKMARK'])('%s is an event', (type) => {
  expect(readWatchEvent({ type, object })).toEqual({ type, object });
});

test.each([
  [429, undefined],
  [500, undefined],
  [503, 7],
])('an ERROR of %i leaves the watch where it was', (code, retryAfterSeconds) => {
  const details = retryAfterSeconds === undefined ? {} : { details: { retryAfterSeconds } };
  const error = failureOf({ type: 'ERROR', object: { code, ...details } });
  expect(error).toBeInstanceOf(KubeStatusError);
  expect(error).toMatchObject({
    status: code,
    retryAfterMs: retryAfterSeconds === undefined ? undefined : retryAfterSeconds * 1000,
  });
});

test.each([410, 400, 428, 499, undefined])('an ERROR of %s asks for a new list', (code) => {
  expect(failureOf({ type: 'ERROR', object: { code, reason: 'r', message: 'why' } })).toMatchObject({
    code: 'KUBE_WATCH_EXPIRED',
    message: 'why',
    fields: { reason: 'r', code },
  });
});

test.each([
  [null],
  ['text'],
  [{}],
  [{ type: 'OTHER', object }],
  [{ type: 'ADDED' }],
  [{ type: 'ADDED', object: {} }],
  [{ type: 'ADDED', object: { metadata: { resourceVersion: '' } } }],
  [{ type: 'ADDED', object: { metadata: { resourceVersion: 1 } } }],
])('%j is no event', (line) => {
  expect(failureOf(line)).toMatchObject({ code: 'KUBE_WATCH_BROKEN' });
});

test('an ERROR without anything asks for a new list', () => {
  expect(failureOf({ type: 'ERROR' })).toMatchObject({ code: 'KUBE_WATCH_EXPIRED' });
});
