import { describe, expect, test } from 'vitest';
import { registryOf } from '../../model/keys/key-registry.test-fixtures.ts';
import { WS_DAEMON_LABEL, WS_DAEMON_SERVICE } from '../readiness/readiness.test-fixtures.ts';
import { sortPoolLabels } from './pool-keys.ts';

const keys = registryOf({
  watchedServices: [WS_DAEMON_SERVICE],
  poolLabels: ['nodepool.banzaicloud.io/name', 'agentpool'],
});
const reserved = { keys, domains: ['Google.com', 'example.org', 'StorageTier'], allowedPrefixes: [] };

function reasonFor(key: string, value = 'x'): string | undefined {
  return sortPoolLabels({ pool: 'p', labels: { [key]: value } }, reserved).refused[0]?.reason;
}

describe('a label of a pool is refused', () => {
  test.each([
    [
      'kubernetes.io/x',
      'is in the reserved domain kubernetes.io (a rule can set it, with its prefix in rules.allowedPrefixes)',
    ],
    [
      'node-role.kubernetes.io/master',
      'is in the reserved domain kubernetes.io (a rule can set it, with its prefix in rules.allowedPrefixes)',
    ],
    ['k8s.io/x', 'is in the reserved domain k8s.io (a rule can set it, with its prefix in rules.allowedPrefixes)'],
    ['kubernetes.io/hostname', 'is in the reserved domain kubernetes.io'],
    ['topology.kubernetes.io/zone', 'is in the reserved domain kubernetes.io'],
    ['cloud.google.com/x', 'is in the reserved domain Google.com'],
    ['example.org/x', 'is in the reserved domain example.org'],
    ['storagetier', 'is in the reserved domain StorageTier'],
    ['a.storagetier/x', 'is in the reserved domain StorageTier'],
    ['agentpool', 'names the pool of a node'],
    ['nodepool.banzaicloud.io/name', 'names the pool of a node'],
    ['karpenter.sh/nodepool', 'identifies a pool or a node'],
    ['nodepool.banzaicloud.io/managed-labels', 'is the annotation that lists the labels of pools'],
    [WS_DAEMON_LABEL, 'belongs to the service ws-daemon of Gitpod'],
    ['device.rollcall.dev/edgetpu', 'belongs to the labels of devices'],
    ['fact.rollcall.dev/os', 'belongs to the labels of facts (--fact-labels)'],
    ['beta.devicetree.org/x', 'belongs to the labels of devices'],
    ['key*', 'is not a valid label key'],
    ['', 'is not a valid label key'],
    ['Upper.io/x', 'is not a valid label key'],
    ['a/b/c', 'is not a valid label key'],
  ])('with the key %j', (key, reason) => {
    expect(reasonFor(key)).toBe(reason);
  });

  test('that begins with none of the prefixes that are allowed', () => {
    const narrow = { ...reserved, allowedPrefixes: ['tier', 'example.com/', 'kubernetes.io/'] };
    const labels = { 'tier-1': 'x', 'example.com/a': 'x', other: 'x', 'kubernetes.io/x': 'x' };
    const { accepted, refused } = sortPoolLabels({ pool: 'p', labels }, narrow);
    expect([...accepted.keys()]).toEqual(['example.com/a', 'tier-1']);
    expect(refused).toEqual([
      {
        key: 'kubernetes.io/x',
        reason: 'is in the reserved domain kubernetes.io (a rule can set it, with its prefix in rules.allowedPrefixes)',
      },
      {
        key: 'other',
        reason: 'does not begin with one of pools.allowedPrefixes (tier, example.com/, kubernetes.io/)',
      },
    ]);
  });

  test.each(['value.*-/', '-', 'x'.repeat(64), 'with space'])('with the value %j', (value) => {
    expect(reasonFor('key', value)).toBe('has an invalid label value');
  });
});

test.each([
  'my-kubernetes.io-thing',
  'mykubernetes.io/x',
  'kubernetes.io.example.com/x',
  'notgoogle.com/x',
  'node.banzaicloud.io/ondemand',
  'my-storagetier',
  'google.com',
  'kubernetes.io',
])('a label of a pool with the key %j is accepted', (key) => {
  expect(reasonFor(key)).toBeUndefined();
});

test('an empty value is a value', () => {
  expect(reasonFor('key', '')).toBeUndefined();
});

test('a bad key stops no other, and each is told once, in order', () => {
  const labels = { z: '1', 'k8s.io/b': '1', 'a*': '1', m: '' };
  expect(sortPoolLabels({ pool: 'p', labels }, reserved)).toEqual({
    accepted: new Map([
      ['m', ''],
      ['z', '1'],
    ]),
    refused: [
      { key: 'a*', reason: 'is not a valid label key' },
      {
        key: 'k8s.io/b',
        reason: 'is in the reserved domain k8s.io (a rule can set it, with its prefix in rules.allowedPrefixes)',
      },
    ],
  });
});

test('what does not fit on a Node is refused, the last keys first', () => {
  const sorted = (count: number, length: number) => {
    const keys = Array.from(
      { length: count },
      (_, index) => `${'d'.repeat(length)}/k${String(index).padStart(4, '0')}`,
    );
    const { accepted, refused } = sortPoolLabels(
      { pool: 'p', labels: Object.fromEntries(keys.map((key) => [key, ''])) },
      reserved,
    );
    return [accepted.size, refused.length, refused[0]?.key === keys[accepted.size]];
  };
  expect(sorted(150, 250)).toEqual([128, 22, true]);
  expect(sorted(2010, 10)).toEqual([2000, 10, true]);
  expect(sorted(2000, 10)).toEqual([2000, 0, true]);
});

test('a label that says the pool that it is for is nothing to set, and nothing to refuse; another pool is', () => {
  const sorted = (value: string) => sortPoolLabels({ pool: 'gold', labels: { agentpool: value } }, reserved);
  expect(sorted('gold')).toEqual({ accepted: new Map(), refused: [] });
  expect(sorted('silver').refused).toEqual([{ key: 'agentpool', reason: 'names the pool of a node' }]);
});

test('what identifies a node, what rollcall sets and what is Kubernetes’ own is untouchable, other domains are not', () => {
  const all = ['agentpool', WS_DAEMON_LABEL, 'a.k8s.io/x', 'kubernetes.io/os', 'example.org/x', 'team'];
  expect(all.filter((key) => keys.isUntouchable('label', key))).toEqual(all.slice(0, 4));
});

describe('as Pipeline’s validator has it', () => {
  const strict = { keys: registryOf(), domains: ['example.com'], allowedPrefixes: [] };
  const isAccepted = (key: string, value = 'value') =>
    sortPoolLabels({ pool: 'p', labels: { [key]: value } }, strict).accepted.has(key);

  test('PL-4 keys are qualified names outside the forbidden domains and what is below them', () => {
    const keys = ['key', 'key*', '', 'example.com/key', 'node.example.com/key', 'node-role.kubernetes.io/master'];
    expect(keys.filter((key) => isAccepted(key))).toEqual(['key']);
  });

  test('PL-5 values have the syntax of label values', () => {
    expect(['value', 'value.*-/', ''].filter((value) => isAccepted('key', value))).toEqual(['value', '']);
  });
});
