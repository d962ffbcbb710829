import { expect, test } from 'vitest';
import { TokenDecisionCache } from './bearer-auth.ts';
import { unauthenticated } from './report-refusal.ts';

const LIFE_MS = 600_000;
const identity = { node: 'n1', pod: { name: 'a', uid: 'p1' }, issuedAtSeconds: 0 };

test('what is over goes as others come, so that tokens that were replaced do not pile up', () => {
  const cache = new TokenDecisionCache({ acceptedMax: 200_000, refusedMax: 10_000 });
  // An agent has a new token every 48 minutes, and asks about the old one never again.
  for (let minute = 0; minute < 10_000; minute += 48) {
    const nowMs = minute * 60_000;
    cache.accept(`token ${minute}`, identity, nowMs, nowMs + LIFE_MS);
    expect(cache.get(`token ${minute}`, nowMs)).toEqual({ identity });
  }
  expect(cache.size).toBe(1);
});

test('a verdict that lasts longer goes later than one that came after it', () => {
  const cache = new TokenDecisionCache({ acceptedMax: 10, refusedMax: 10 });
  cache.accept('long', identity, 0, LIFE_MS);
  cache.accept('short', identity, 0, 1000);
  cache.accept('other', identity, 2000, LIFE_MS);
  expect(cache.get('long', 2000)).toEqual({ identity });
  expect(cache.get('short', 2000)).toBeUndefined();
});

const refusal = unauthenticated('no');

test('a verdict counts until its time, and not at it', () => {
  const cache = new TokenDecisionCache({ acceptedMax: 10, refusedMax: 10 });
  cache.accept('a', identity, 0, 1000);
  cache.refuse('b', refusal, 0, 1000);
  expect([cache.get('a', 999), cache.get('b', 999)]).toEqual([{ identity }, { refusal }]);
  expect([cache.get('a', 1000), cache.get('b', 1000), cache.size]).toEqual([undefined, undefined, 0]);
  expect(cache.get('never', 0)).toBeUndefined();
});

test('a token that is refused is no longer accepted, and the last verdict counts', () => {
  const cache = new TokenDecisionCache({ acceptedMax: 10, refusedMax: 10 });
  cache.accept('a', identity, 0, LIFE_MS);
  cache.refuse('a', refusal, 1, 1000);
  expect([cache.get('a', 1), cache.size]).toEqual([{ refusal }, 1]);
  cache.accept('a', identity, 2, LIFE_MS);
  expect(cache.get('a', 2)).toEqual({ identity });
});

test('where there is no room the oldest go, of each kind by itself', () => {
  const cache = new TokenDecisionCache({ acceptedMax: 2, refusedMax: 3 });
  const names = ['a', 'b', 'c', 'd'];
  for (const name of names) cache.refuse(`no ${name}`, refusal, 0, 1000);
  for (const name of names) cache.accept(name, identity, 0, LIFE_MS);
  expect(names.map((name) => cache.get(name, 0) !== undefined)).toEqual([false, false, true, true]);
  expect(names.map((name) => cache.get(`no ${name}`, 0) !== undefined)).toEqual([false, true, true, true]);
  // One that is accepted again is the latest.
  cache.accept('c', identity, 1, LIFE_MS);
  cache.accept('e', identity, 1, LIFE_MS);
  expect([cache.get('c', 1), cache.get('d', 1)]).toEqual([{ identity }, undefined]);
});
