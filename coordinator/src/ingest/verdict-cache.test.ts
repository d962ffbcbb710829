import { expect, test } from 'vitest';
import { VerdictCache } from './verdict-cache.ts';

const LIFE_MS = 600_000;
const identity = { node: 'n1', pod: { name: 'a', uid: 'p1' }, issuedAtSeconds: 0 };

test('what is over goes as others come, so that tokens that were replaced do not pile up', () => {
  const cache = new VerdictCache({ acceptedMax: 200_000, refusedMax: 10_000 });
  // An agent has a new token every 48 minutes, and asks about the old one never again.
  for (let minute = 0; minute < 10_000; minute += 48) {
    const nowMs = minute * 60_000;
    cache.accept(`token ${minute}`, identity, nowMs, nowMs + LIFE_MS);
    expect(cache.get(`token ${minute}`, nowMs)).toEqual({ identity });
  }
  expect(cache.size).toBe(1);
});

test('a verdict that lasts longer goes later than one that came after it', () => {
  const cache = new VerdictCache({ acceptedMax: 10, refusedMax: 10 });
  cache.accept('long', identity, 0, LIFE_MS);
  cache.accept('short', identity, 0, 1000);
  cache.accept('other', identity, 2000, LIFE_MS);
  expect(cache.get('long', 2000)).toEqual({ identity });
  expect(cache.get('short', 2000)).toBeUndefined();
});
