import { describe, expect, it } from 'vitest';
import { acquired, type Lease, type LeaseSpec, leaseState, microTime, released, whereabouts } from './lease-record.ts';

function lease(spec: LeaseSpec, annotations: Record<string, string> = {}): Lease {
  return { metadata: { name: 'l', uid: 'u', resourceVersion: '1', annotations }, spec };
}

describe('leaseState', () => {
  const renewTime = '2026-01-01T00:00:00.000000Z';
  it.each<[string, LeaseSpec, ReturnType<typeof leaseState>]>([
    ['an empty record unclaimed', {}, { state: 'unclaimed' }],
    ['what client-go releases', { holderIdentity: '', leaseDurationSeconds: 1, renewTime }, { state: 'released' }],
    [
      'a record out of which a person took the name held by an unknown',
      { holderIdentity: '', leaseDurationSeconds: 15, renewTime },
      { state: 'held', holder: undefined, durationMs: 15_000 },
    ],
    [
      'a record with a holder held, however old',
      { holderIdentity: 'x', leaseDurationSeconds: 15, renewTime },
      { state: 'held', holder: 'x', durationMs: 15_000 },
    ],
    [
      'a duration below zero none',
      { holderIdentity: 'x', leaseDurationSeconds: -5 },
      { state: 'held', holder: 'x', durationMs: 0 },
    ],
  ])('calls %s', (_what, spec, state) => {
    expect(leaseState(lease(spec))).toEqual(state);
  });
});

describe('released', () => {
  it('takes out holder and address, and leaves the rest', () => {
    const annotations = { 'rollcall.dev/leader-url': 'https://x', other: 'kept' };
    const spec = { holderIdentity: 'x', leaseTransitions: 7, acquireTime: 'a', strategy: 'kept' };
    expect(released(lease(spec, annotations), 'now')).toMatchObject({
      metadata: { annotations: { other: 'kept' } },
      spec: {
        holderIdentity: '',
        leaseDurationSeconds: 1,
        leaseTransitions: 7,
        acquireTime: 'a',
        renewTime: 'now',
        strategy: 'kept',
      },
    });
    expect(released(lease(spec, annotations), 'now').metadata.annotations).toEqual({ other: 'kept' });
  });
});

describe('acquired', () => {
  it.each([
    ['https://scheduler', 'https://console'],
    ['', 'https://console'],
    ['https://scheduler', ''],
  ])(
    'says where the holder answers kube-scheduler (%s) and people (%s), and nothing of its predecessor',
    (schedulerUrl, consoleUrl) => {
      const before = {
        identity: 'old',
        leaderUrl: 'https://old',
        schedulerUrl: 's',
        consoleUrl: 'c',
        leaseDurationMs: 1,
      };
      const candidate = { identity: 'x', leaderUrl: 'https://x', schedulerUrl, consoleUrl, leaseDurationMs: 15_000 };
      const taken = acquired(acquired(lease({}, { other: 'kept' }), before, 1, 'then'), candidate, 2, 'now');
      expect(whereabouts(taken)).toEqual({
        url: 'https://x',
        schedulerUrl: schedulerUrl || undefined,
        consoleUrl: consoleUrl || undefined,
      });
      expect(taken.metadata.annotations).toMatchObject({ other: 'kept' });
    },
  );
});

describe('microTime', () => {
  it('has six digits, the last three of which tell two writes of one millisecond apart', () => {
    const epochMs = Date.UTC(2026, 0, 2, 3, 4, 5, 67);
    expect(microTime(epochMs, 8)).toBe('2026-01-02T03:04:05.067008Z');
    expect(microTime(epochMs, 1008)).toBe('2026-01-02T03:04:05.067008Z');
  });
});
