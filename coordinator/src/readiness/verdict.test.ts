import { describe, expect, test } from 'vitest';
import type { Freshness } from '../fleet/freshness.ts';
import { pod, snapshot, WS_DAEMON_SERVICE } from './readiness.test-fixtures.ts';
import { judgeService } from './verdict.ts';

type Situation = {
  freshness?: Freshness;
  probe?: boolean;
  pods?: ReturnType<typeof pod>[];
  requirePod?: boolean;
};

function verdict({ freshness = { state: 'fresh' }, probe = true, pods = [pod()], requirePod = true }: Situation) {
  return judgeService(WS_DAEMON_SERVICE, snapshot({ freshness, pods }, probe), requirePod);
}

describe('a service', () => {
  test('is ready when pod, probe and freshness agree, and says by which evidence', () => {
    expect(verdict({})).toMatchObject({ state: 'ready' });
    expect(verdict({}).reason).toMatch(/ws-daemon-1 is Ready; tcp refused twice/);
  });

  test.each([
    ['the probe says no', { probe: false }, /tcp refused twice/],
    ['there is no pod', { pods: [] }, /no pod of ws-daemon/],
    ['the only pod is not Ready', { pods: [pod({ ready: false })] }, /ws-daemon-1 is not Ready/],
    ['the only pod is terminating', { pods: [pod({ terminating: true })] }, /ws-daemon-1 is terminating/],
    ['the agent is silent', { freshness: { state: 'silent' as const } }, /silent for too long/],
    ['no agent ever reported', { freshness: { state: 'absent' as const } }, /no agent/],
  ])('is not ready when %s', (_name, situation, reason) => {
    expect(verdict(situation)).toMatchObject({ state: 'not-ready', reason: expect.stringMatching(reason) });
  });

  test('is ready with one good pod beside one that is terminating, in either order', () => {
    const pods = [pod({ name: 'a', terminating: true }), pod({ name: 'b' })];
    expect(verdict({ pods }).state).toBe('ready');
    expect(verdict({ pods: pods.toReversed() }).state).toBe('ready');
  });

  test.each<Freshness>([{ state: 'unheard' }, { state: 'silent', guard: 'fleet' }])(
    'is unknown when nobody can tell: $state',
    (freshness) => {
      expect(verdict({ freshness }).state).toBe('unknown');
    },
  );

  test.each<Freshness>([{ state: 'unheard' }, { state: 'silent', guard: 'fleet' }, { state: 'leaving' }])(
    'goes by what pods say even while the agent is $state',
    (freshness) => {
      expect(verdict({ freshness, pods: [pod({ ready: false })] }).state).toBe('not-ready');
    },
  );

  test('goes by the agent alone where pods are not required', () => {
    expect(verdict({ requirePod: false, pods: [] }).state).toBe('ready');
    expect(verdict({ requirePod: false, pods: [], probe: false }).state).toBe('not-ready');
  });
});
