import { expect, it } from 'vitest';
import { AUTHORITY_LIFE_MS } from './certificate-authority.ts';
import { nextStep, type RotationState } from './rotation.ts';

const DAY = 86_400_000;
const nowMs = Date.UTC(2026, 0, 1);

it.each([
  ['ten years as one of today', 3650 * DAY, 0.6 * AUTHORITY_LIFE_MS, 'wait'],
  ['ten years as one of today', 3650 * DAY, 0.7 * AUTHORITY_LIFE_MS, 'introduce-authority'],
  ['100 days before it expires', 100 * DAY, 60 * DAY, 'wait'],
  ['100 days before it expires', 100 * DAY, 70 * DAY, 'introduce-authority'],
])('replaces an authority that was made for %s', (_how, lifeMs, ageMs, action) => {
  const notBeforeMs = nowMs - ageMs;
  const authority = { fingerprint: 'ca', notBeforeMs, notAfterMs: notBeforeMs + lifeMs };
  const leaf = { fingerprint: 'leaf', notBeforeMs: nowMs - DAY, notAfterMs: nowMs + 89 * DAY };
  const state: RotationState = {
    leaf: { ...leaf, names: ['a'], issuer: 'ca', stored: true },
    authority,
    next: undefined,
    previous: [],
    previousUntilMs: undefined,
    published: { certificates: [authority], intact: true, sinceMs: nowMs - DAY },
  };
  expect(nextStep(state, { names: ['a'], propagationMs: 600_000 }, nowMs).action).toBe(action);
});
