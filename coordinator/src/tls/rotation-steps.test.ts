import { describe, expect, test } from 'vitest';
import { AUTHORITY_LIFE_MS, LEAF_LIFE_MS } from './certificate-authority.ts';
import { type CertificateFacts, type LeafFacts, nextStep, type RotationState } from './rotation.ts';

/** One step from one state, to the millisecond. Whole lives of certificates are in rotation.test.ts. */

const NOW_MS = Date.UTC(2026, 0, 1);
const HOUR = 3_600_000;
const PROPAGATION_MS = 600_000;
const NAMES = ['a', 'b'];

const facts = (fingerprint: string, change: Partial<CertificateFacts> = {}): CertificateFacts => ({
  fingerprint,
  notBeforeMs: NOW_MS - HOUR,
  notAfterMs: NOW_MS - HOUR + AUTHORITY_LIFE_MS,
  ...change,
});

const CA = facts('ca');
const NEXT = facts('next');
const LEAF: LeafFacts = {
  ...facts('leaf', { notAfterMs: NOW_MS - HOUR + LEAF_LIFE_MS }),
  names: NAMES,
  issuer: 'ca',
  stored: true,
};
/** Due at two thirds of its life. */
const LEAF_DUE_MS = LEAF.notBeforeMs + (LEAF_LIFE_MS * 2) / 3;
const CA_DUE_MS = CA.notBeforeMs + (AUTHORITY_LIFE_MS * 2) / 3;

const published = (...certificates: CertificateFacts[]) => ({ certificates, intact: true, sinceMs: NOW_MS - HOUR });

/** Everything is as it should be. */
const GOOD: RotationState = {
  leaf: LEAF,
  authority: CA,
  next: undefined,
  previous: [],
  previousUntilMs: undefined,
  published: published(CA),
};

function step(change: Partial<RotationState>, nowMs = NOW_MS, names: readonly string[] = NAMES) {
  return nextStep({ ...GOOD, ...change }, { names, propagationMs: PROPAGATION_MS }, nowMs);
}

test('where all is well, the next thing is the renewal of the certificate', () => {
  expect(step({})).toEqual({ action: 'wait', untilMs: LEAF_DUE_MS });
});

describe('the certificate', () => {
  const lost = { action: 'sign-leaf', by: 'authority', reason: 'there is no usable certificate' };

  test('is usable from its first moment to before its last', () => {
    expect(step({ leaf: { ...LEAF, notBeforeMs: NOW_MS } }).action).toBe('wait');
    expect(step({ leaf: { ...LEAF, notAfterMs: NOW_MS } })).toMatchObject(lost);
    expect(step({ leaf: { ...LEAF, notBeforeMs: NOW_MS + 1 } })).toMatchObject(lost);
    expect(step({}, LEAF.notAfterMs - 1)).toMatchObject({ reason: 'the certificate is due for renewal' });
  });

  test('of an unknown authority counts as lost', () => {
    expect(step({ leaf: { ...LEAF, issuer: undefined } })).toMatchObject(lost);
  });

  test('that is lost is signed at once, by any authority that can', () => {
    expect(step({ leaf: undefined })).toEqual({ ...lost, previous: [], previousUntilMs: undefined });
    expect(step({ leaf: undefined, authority: undefined, next: NEXT })).toMatchObject({ ...lost, by: 'next' });
  });

  test('that is lost with every authority begins anew, and what was published stays for as long as a leaf lives', () => {
    const expired = facts('expired', { notAfterMs: NOW_MS });
    const nothing = { leaf: undefined, authority: undefined, published: published(CA, expired) };
    expect(step(nothing)).toEqual({
      action: 'start-anew',
      reason: 'there is neither a usable certificate nor an authority',
      previous: ['ca'],
      previousUntilMs: NOW_MS + LEAF_LIFE_MS,
    });
  });

  test('is renewed at two thirds of its life', () => {
    expect(step({}, LEAF_DUE_MS - 1)).toEqual({ action: 'wait', untilMs: LEAF_DUE_MS });
    expect(step({}, LEAF_DUE_MS)).toEqual({
      action: 'sign-leaf',
      by: 'authority',
      reason: 'the certificate is due for renewal',
      previous: [],
      previousUntilMs: undefined,
    });
  });

  test.each<[string, Partial<LeafFacts>, readonly string[]]>([
    ['the stored certificate is gone', { stored: false }, NAMES],
    ['the certificate lacks a name', {}, ['b', 'c']],
  ])('is renewed because %s', (reason, change, names) => {
    expect(step({ leaf: { ...LEAF, ...change } }, NOW_MS, names)).toMatchObject({ by: 'authority', reason });
  });

  test('with more names than are asked for is good', () => {
    expect(step({}, NOW_MS, ['a']).action).toBe('wait');
  });

  test('of another authority is replaced when that has had its time to spread', () => {
    const other = facts('other');
    const state = { leaf: { ...LEAF, issuer: 'other' }, published: { ...published(CA, other), sinceMs: NOW_MS } };
    expect(step(state)).toEqual({ action: 'wait', untilMs: NOW_MS + PROPAGATION_MS });
    expect(step(state, NOW_MS + PROPAGATION_MS - 1).action).toBe('wait');
    expect(step(state, NOW_MS + PROPAGATION_MS)).toEqual({
      action: 'sign-leaf',
      by: 'authority',
      reason: 'the certificate is of another authority',
      previous: ['other'],
      previousUntilMs: LEAF.notAfterMs,
    });
  });
});

describe('what is published', () => {
  test.each<[string, Partial<RotationState>, string[]]>([
    ['an authority is not published', { published: published() }, ['ca']],
    ['an authority is not published', { next: NEXT }, ['ca', 'next']],
    ['an authority is not published', { previous: [facts('old')], previousUntilMs: NOW_MS + 1 }, ['ca', 'old']],
    ['an authority is not published', { leaf: { ...LEAF, issuer: 'other' } }, ['other', 'ca']],
    ['something else is published', { published: published(CA, NEXT) }, ['ca']],
    ['something else is published', { published: { ...published(CA), intact: false } }, ['ca']],
    ['the time of publication is not known', { published: { ...published(CA), sinceMs: undefined } }, ['ca']],
    [
      'the time of publication is not known',
      { published: { ...published(CA), sinceMs: NOW_MS + PROPAGATION_MS + 1 } },
      ['ca'],
    ],
  ])('is put right because %s', (reason, change, fingerprints) => {
    expect(step(change)).toEqual({ action: 'publish', fingerprints, reason });
  });

  test('may be of a clock that is ahead by no more than it takes to spread', () => {
    expect(step({ published: { ...published(CA), sinceMs: NOW_MS + PROPAGATION_MS } }).action).toBe('wait');
  });

  test('has no authority that has expired', () => {
    const expired = facts('expired', { notAfterMs: NOW_MS });
    expect(step({ previous: [expired], previousUntilMs: NOW_MS + 1 }).action).toBe('wait');
  });
});

describe('an authority that does not sign any more', () => {
  const old = facts('old');
  const state = { previous: [old], published: published(CA, old) };

  test('is forgotten when its last certificate has expired', () => {
    expect(step({ ...state, previousUntilMs: NOW_MS + 1 })).toEqual({ action: 'wait', untilMs: NOW_MS + 1 });
    expect(step({ ...state, previousUntilMs: NOW_MS })).toEqual({ action: 'forget-previous' });
    expect(step({ ...state, previousUntilMs: undefined })).toEqual({ action: 'forget-previous' });
  });

  test('stays for as long as it was to, even if another authority signs meanwhile', () => {
    const untilMs = LEAF.notAfterMs + 1;
    expect(step({ ...state, previousUntilMs: untilMs }, LEAF_DUE_MS)).toMatchObject({
      by: 'authority',
      previous: ['old'],
      previousUntilMs: untilMs,
    });
  });
});

describe('the authority', () => {
  /** Of a certificate that is not due by itself. */
  const fresh = { leaf: { ...LEAF, notBeforeMs: CA_DUE_MS - HOUR, notAfterMs: CA_DUE_MS + LEAF_LIFE_MS } };

  test('is followed by another at two thirds of its life', () => {
    expect(step(fresh, CA_DUE_MS - 1)).toEqual({ action: 'wait', untilMs: CA_DUE_MS });
    expect(step(fresh, CA_DUE_MS)).toEqual({
      action: 'introduce-authority',
      reason: 'the authority is due for renewal',
    });
  });

  test('that is gone is followed by another as well', () => {
    const gone = { authority: undefined };
    expect(step(gone)).toEqual({ action: 'introduce-authority', reason: 'the authority cannot sign' });
  });

  test('hands over when its successor has had the time to spread', () => {
    const state = { ...fresh, next: NEXT, published: { ...published(CA, NEXT), sinceMs: CA_DUE_MS } };
    expect(step(state, CA_DUE_MS)).toEqual({ action: 'wait', untilMs: CA_DUE_MS + PROPAGATION_MS });
    expect(step(state, CA_DUE_MS + PROPAGATION_MS)).toEqual({
      action: 'sign-leaf',
      by: 'next',
      reason: 'the authority is due for renewal',
      previous: ['ca'],
      previousUntilMs: fresh.leaf.notAfterMs,
    });
  });

  test('of ten years is waited for as one of a year', () => {
    const old = facts('ca', { notAfterMs: NOW_MS + 10 * AUTHORITY_LIFE_MS });
    const state = { ...fresh, authority: old, published: published(old) };
    expect(step(state, CA_DUE_MS - 1)).toEqual({ action: 'wait', untilMs: CA_DUE_MS });
  });
});
