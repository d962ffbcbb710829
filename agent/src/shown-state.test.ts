import { FakeClock } from '@rollcall/common/testing/fake-clock.ts';
import { expect, test } from 'vitest';
import type { ReportedState } from './probes/types.ts';
import { ShownState } from './services-watch.ts';

const STATE: ReportedState = { name: 'a', ready: false, sinceMs: 0, evidence: 'answered 500', digest: 'd' };

test('of evidence that changes with every round, another is shown every ten seconds after the first few', async () => {
  const clock = new FakeClock();
  const shown = new ShownState(clock);
  const evidence = new Set<string>();
  for (let second = 0; second < 60; second += 1) {
    evidence.add(shown.show({ ...STATE, evidence: `answered ${500 + second}` }).evidence);
    await clock.advance(1000);
  }
  // The first, five in a burst, and one for each ten seconds that went by.
  expect(evidence.size).toBeGreaterThanOrEqual(10);
  expect(evidence.size).toBeLessThanOrEqual(12);
});

test('evidence that stays uses nothing up', () => {
  const shown = new ShownState(new FakeClock());
  for (let round = 0; round < 100; round += 1) shown.show(STATE);
  expect(shown.show({ ...STATE, evidence: 'other' }).evidence).toBe('other');
});

test.each<[string, Partial<ReportedState>]>([
  ['is ready', { ready: true }],
  ['is not known', { unknown: true }],
  ['has another check', { digest: 'other' }],
])('that a service %s shows at once', (_, change) => {
  const shown = new ShownState(new FakeClock());
  for (let round = 0; round < 100; round += 1) shown.show({ ...STATE, evidence: `answered ${round}` });
  const state = { ...STATE, ...change, evidence: 'other' };
  expect(shown.show(state)).toBe(state);
});
