import { expect, it } from 'vitest';
import { AUTHORITY_LIFE_MS } from './certificate-authority.ts';
import { nextStep, type RotationState } from './rotation.ts';

const DAY = 86_400_000;
const nowMs = Date.UTC(2026, 0, 1);

it.each([
  [0.6, 'wait'],
  [0.7, 'introduce-authority'],
])('replaces an authority that was made for ten years as one of today: after %f of a year, %s', (share, action) => {
  const notBeforeMs = nowMs - share * AUTHORITY_LIFE_MS;
  const authority = { fingerprint: 'ca', notBeforeMs, notAfterMs: notBeforeMs + 3650 * DAY };
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
