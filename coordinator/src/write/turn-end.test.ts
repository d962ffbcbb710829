import { CodedError } from '@rollcall/common/coded-error.ts';
import { expect, test } from 'vitest';
import type { WriteOutcome } from './classify.ts';
import { endOf, type TurnEnd } from './turn-end.ts';
import { status, TIMED_OUT, UNREACHABLE } from './write-queue.test-fixtures.ts';

const other = new CodedError('KUBE_REQUEST_FAILED', 'on purpose');

test.each<[string, WriteOutcome, TurnEnd]>([
  ['was not sent, as this replica may not write, drops the node', { kind: 'fenced' }, { kind: 'dropped' }],
  ['found no node ends with the node gone', { kind: 'gone' }, { kind: 'gone' }],
  [
    'was throttled is repeated after the time that was asked for',
    { kind: 'throttled', retryAfterMs: 9000, isForAll: false },
    { kind: 'later', priority: 'urgent', delayMs: 9000 },
  ],
  [
    'found no API server is repeated without a backoff',
    { kind: 'failed', error: UNREACHABLE },
    { kind: 'again', priority: 'urgent' },
  ],
  [
    'was not answered in time is repeated after a backoff',
    { kind: 'failed', error: TIMED_OUT },
    { kind: 'retry', error: TIMED_OUT },
  ],
  ['failed is repeated after a backoff', { kind: 'failed', error: other }, { kind: 'retry', error: other }],
  ['came too late is repeated after a backoff', { kind: 'stale' }, { kind: 'retry', error: undefined }],
])('a write that %s', (_what, outcome, end) => {
  expect(endOf(outcome, 'urgent')).toEqual(end);
});

test('an answer of the API server is kept as the reason of a retry', () => {
  const error = status(500);
  expect(endOf({ kind: 'failed', error }, 'normal')).toEqual({ kind: 'retry', error });
});
