import { describe, expect, test } from 'vitest';
import type { Freshness } from '../fleet/freshness.ts';
import type { ObservedPod } from '../fleet/pod-index.ts';
import type { NodeSnapshot } from '../fleet/snapshot.ts';
import { gitpodServices } from '../services.ts';
import { readinessLabeler } from './readiness.ts';

const services = gitpodServices({ namespace: 'default', wsDaemonPort: 8080, registryFacadePort: 31750 });
const label = 'gitpod.io/ws-daemon_ready_ns_default';

function pod(change: Partial<ObservedPod> = {}): ObservedPod {
  const name = change.name ?? 'ws-daemon-1';
  const base = { uid: name, namespace: 'default', name, component: 'ws-daemon', node: 'n', podIP: '', hostIP: '' };
  return { ...base, ready: true, terminating: false, ...change };
}

type Situation = { freshness?: Freshness; probe?: boolean; pods?: ObservedPod[]; requirePod?: boolean };

function verdict({ freshness = { state: 'fresh' }, probe = true, pods = [pod()], requirePod = true }: Situation) {
  const report = { name: 'ws-daemon', ready: probe, since: '2026-01-01T00:00:00Z', evidence: 'tcp refused twice' };
  const snapshot: NodeSnapshot = {
    name: 'n',
    labels: {},
    annotations: {},
    pool: undefined,
    freshness,
    services: new Map([['ws-daemon', report]]),
    pods,
  };
  const claims = readinessLabeler({ services, requirePod }).claims(snapshot);
  return claims.find(({ key }) => key === label);
}

describe('the readiness label', () => {
  test('is wanted when pod, probe and freshness agree', () => {
    expect(verdict({})).toMatchObject({ stance: 'want', value: 'true', ownership: 'exclusive', kind: 'label' });
  });

  test.each([
    ['the probe says no', { probe: false }, /tcp refused twice/],
    ['there is no pod', { pods: [] }, /no pod of ws-daemon/],
    ['the only pod is not Ready', { pods: [pod({ ready: false })] }, /ws-daemon-1 is not Ready/],
    ['the only pod is terminating', { pods: [pod({ terminating: true })] }, /ws-daemon-1 is terminating/],
    ['the agent is silent', { freshness: { state: 'silent' as const } }, /silent for too long/],
    ['no agent ever reported', { freshness: { state: 'absent' as const } }, /no agent/],
  ])('is withheld when %s', (_name, situation, reason) => {
    const claim = verdict(situation);
    expect(claim?.stance).toBe('withhold');
    expect(claim?.reason).toMatch(reason);
  });

  test('is wanted with one good pod beside one that is terminating, in either order', () => {
    const pods = [pod({ name: 'a', terminating: true }), pod({ name: 'b' })];
    expect(verdict({ pods })?.stance).toBe('want');
    expect(verdict({ pods: pods.toReversed() })?.stance).toBe('want');
  });

  test.each<Freshness>([{ state: 'unheard' }, { state: 'silent', guard: 'fleet' }])(
    'stays as it is when nobody can tell: $state',
    (freshness) => {
      expect(verdict({ freshness })?.stance).toBe('hold');
    },
  );

  test.each<Freshness>([{ state: 'unheard' }, { state: 'silent', guard: 'fleet' }, { state: 'leaving' }])(
    'goes by what pods say even while the agent is $state',
    (freshness) => {
      expect(verdict({ freshness, pods: [pod({ ready: false })] })?.stance).toBe('withhold');
    },
  );

  test('goes by the agent alone where pods are not required', () => {
    expect(verdict({ requirePod: false, pods: [] })?.stance).toBe('want');
    expect(verdict({ requirePod: false, pods: [], probe: false })?.stance).toBe('withhold');
  });
});
