import { readFileSync } from 'node:fs';
import { CodedError } from '@rollcall/common/coded-error.ts';
import { describe, expect, test } from 'vitest';
import { setWrite } from '../decide/intent/kinds/metadata.ts';
import { KubeStatusError } from '../kube/client.ts';
import type { KubeStatus } from '../kube/objects.ts';
import { classifyWriteError } from './classify.ts';

/** Answers of kube-apiserver 1.36.3, where causes that it repeats more than twice are cut to two. */
const recorded = JSON.parse(readFileSync(new URL('./recorded-statuses.json', import.meta.url), 'utf8')) as Record<
  string,
  KubeStatus
>;

const nothing: never[] = [];

function classify(name: string, sent: { labels?: Record<string, string>; annotations?: Record<string, string> } = {}) {
  const status = recorded[name];
  if (!status?.code) throw new Error(`nothing is recorded as ${name}`);
  const set = { labels: {}, annotations: {}, force: false, ...sent };
  const changes = setWrite.changes({ write: 'set', set });
  return classifyWriteError(new KubeStatusError(status.code, status, undefined, {}), changes);
}

describe('the recorded answer to a', () => {
  test.each([
    ['withdrawal from an absent node', 'gone'],
    ['set with another uid', 'gone'],
    ['withdrawal with another uid', 'gone'],
    ['set with another uid and a malformed key', 'gone'],
    ['set that a policy refuses as Invalid', 'denied'],
    ['set that a policy refuses as Forbidden', 'denied'],
    ['set that a policy refuses as RequestEntityTooLarge', 'denied'],
    ['set without the right to patch nodes', 'denied'],
    ['set of an absent node, without a uid', 'denied'],
    // As is one that still conflicts after the API server's own tries: neither may cost what is known of the Node.
    ['set of an absent node', 'stale'],
    ['set by force with an old resource version', 'stale'],
    ['withdrawal that admission answers with a conflict', 'stale'],
    ['JSON patch whose test fails', 'stale'],
    ['JSON patch that adds a taint twice', 'stale'],
    ['set of a field that does not exist', 'failed'],
    ['request without a valid token', 'failed'],
  ])('%s means %s', (name, kind) => {
    expect(classify(name).kind).toBe(kind);
  });

  test('set that conflicts names every key and its owner', () => {
    expect(classify('set that conflicts with three managers')).toEqual({
      kind: 'conflict',
      foreign: [
        { ref: { kind: 'annotation', key: 'y.io/a' }, owner: 'argo' },
        { ref: { kind: 'label', key: 'shared' }, owner: 'argo, flux' },
        { ref: { kind: 'label', key: 'x.io/l.o-n_g' }, owner: 'argo' },
        { ref: { kind: 'label', key: 'plain' }, owner: 'flux' },
        { ref: { kind: 'label', key: 'tier' }, owner: 'kubectl-label' },
      ],
    });
  });

  test('apply of conditions that conflicts names each of them once', () => {
    expect(classify('apply of conditions that conflicts')).toEqual({
      kind: 'conflict',
      foreign: [{ ref: { kind: 'condition', key: 'example.com/X' }, owner: 'rival' }],
    });
  });

  test('set of a key that two managers hold names the key once', () => {
    expect(classify('set of a key that two managers hold')).toEqual({
      kind: 'conflict',
      foreign: [{ ref: { kind: 'label', key: 'shared' }, owner: 'argo, flux' }],
    });
  });

  test.each([
    ['set with a malformed label key', { labels: { mine: '1', 'bad key!': 'x' } }, ['bad key!']],
    ['set with a malformed label value', { labels: { mine: '1', 'ok.io/k': 'bad value!' } }, ['ok.io/k']],
    [
      'set with malformed annotation keys',
      { labels: { mine: '1' }, annotations: { 'bad anno!': 'x', 'OK/UPPER': 'x' } },
      ['bad anno!'],
    ],
    [
      'set with malformed labels and annotations',
      {
        labels: { mine: '1', 'bad.io/k!': 'x', v1: '-x', v2: '-y' },
        annotations: { 'bad anno!': 'x', good: 'any text' },
      },
      ['bad.io/k!', 'v1', 'v2', 'bad anno!'],
    ],
    ['set with too large annotations', { labels: { mine: '1' }, annotations: { big: 'x'.repeat(300_000) } }, []],
  ])('%s names the keys that break the rules', (name, sent, keys) => {
    const outcome = classify(name, sent);
    expect(outcome.kind).toBe('invalid');
    expect(outcome.kind === 'invalid' && outcome.keys.map(({ key }) => key)).toEqual(keys);
  });

  test('set with a malformed annotation does not blame labels that only look odd', () => {
    const outcome = classify('set with malformed annotation keys', { labels: { 'not! asked': '1' } });
    expect(outcome).toMatchObject({ kind: 'invalid', keys: [] });
  });
});

test('a Status that asks for patience, as a webhook can answer it, asks for one node', () => {
  const error = new KubeStatusError(429, { kind: 'Status', code: 429 }, 3000, {});
  expect(classifyWriteError(error, nothing)).toEqual({ kind: 'throttled', retryAfterMs: 3000, isForAll: false });
});

describe('an answer without a usable body', () => {
  const answer = (status: number, retryAfterMs?: number) =>
    classifyWriteError(new KubeStatusError(status, {}, retryAfterMs, {}), nothing);

  test.each([429, 500, 503, 504])('with status %i and Retry-After asks for patience', (status) => {
    expect(answer(status, 3000)).toEqual({ kind: 'throttled', retryAfterMs: 3000, isForAll: true });
  });

  test.each([
    [429, undefined],
    [429, 0],
    [503, 0],
  ])('with status %i and Retry-After %s asks for a second', (status, retryAfterMs) => {
    expect(answer(status, retryAfterMs)).toEqual({ kind: 'throttled', retryAfterMs: 1000, isForAll: true });
  });

  test.each([400, 401, 415, 500, 502, 503, 504])('with status %i is a failure', (status) => {
    expect(answer(status).kind).toBe('failed');
  });

  test('with status 422 is not taken for a bad key or for another node', () => {
    expect(answer(422)).toEqual({ kind: 'stale' });
  });
});

test('no answer is a failure that keeps the error', () => {
  const error = new CodedError('KUBE_UNREACHABLE', 'The API server could not be reached');
  expect(classifyWriteError(error, nothing)).toEqual({ kind: 'failed', error });
});

test('what is no answer of the API server is a failure, whatever status it has', () => {
  const error = Object.assign(new Error('a proxy on the way'), { status: 404 });
  expect(classifyWriteError(error, nothing)).toEqual({ kind: 'failed', error });
});

describe('an answer with status 422', () => {
  const answer = (...reasons: string[]) => {
    const causes = reasons.map((reason) => ({ reason, field: 'spec.taints[0]', message: 'on purpose' }));
    return classifyWriteError(new KubeStatusError(422, { details: { causes } }, undefined, {}), nothing).kind;
  };

  test('that complains of duplicates only means that the node has changed', () => {
    expect(answer('FieldValueDuplicate', 'FieldValueDuplicate')).toBe('stale');
  });

  test.each([[['FieldValueInvalid']], [['FieldValueDuplicate', 'FieldValueInvalid']]])(
    'that complains of anything else (%j) refuses the keys, and is not repeated as if the node had changed',
    (reasons) => {
      expect(answer(...reasons)).toBe('denied');
    },
  );

  test.each([
    [{ message: 'a policy' }, 'denied'],
    [{ message: 'a field', field: 'spec.taints' }, 'denied'],
    [{ message: 'a value', reason: 'FieldValueInvalid' }, 'denied'],
  ])('with the cause %j is %s', (cause, kind) => {
    const error = new KubeStatusError(422, { details: { causes: [cause] } }, undefined, {});
    expect(classifyWriteError(error, nothing).kind).toBe(kind);
  });
});

test('a conflict over a single field that is no key of ours is a failure, and is not taken for an outdated version', () => {
  const causes = [{ reason: 'FieldManagerConflict', field: '.spec.unschedulable', message: 'conflict with "x"' }];
  const error = new KubeStatusError(409, { details: { causes } }, undefined, {});
  expect(classifyWriteError(error, nothing)).toEqual({ kind: 'failed', error });
});
