import { describe, expect, test } from 'vitest';
import { registryOf } from '../../model/keys/key-registry.test-fixtures.ts';
import type { ObservedPoolLabelSet, PoolLabelKind } from '../../state/pool-label-sets.ts';
import { snapshot, WS_DAEMON_LABEL, WS_DAEMON_SERVICE } from '../readiness/readiness.test-fixtures.ts';
import { poolLabelsLabeler } from './pool-labels.ts';

const LIST = 'nodepool.banzaicloud.io/managed-labels';
const keys = registryOf({ watchedServices: [WS_DAEMON_SERVICE], poolLabels: ['agentpool'] });
const reserved = { keys, domains: ['example.org'], allowedPrefixes: [] };
const labeler = poolLabelsLabeler(reserved);

function poolSet(labels: Record<string, string>, kind: PoolLabelKind = 'NodePoolLabels'): ObservedPoolLabelSet {
  const base = { kind, uid: 'u', name: 'gold', namespace: 'rollcall', generation: 1, createdAt: '', pool: 'gold' };
  return { ...base, labels, status: undefined };
}

type Given = {
  labels?: Record<string, string>;
  list?: string;
  wanted?: Record<string, string>;
  owned?: string[];
  shared?: string[];
  known?: boolean;
  implied?: string;
  /** What the Node lists, by `kind:key`. */
  listed?: Record<string, string>;
  servicesKnown?: boolean;
  others?: ObservedPoolLabelSet[];
};

/** Claims as `key stance ownership value`, with `foreign` or `left` where the label of another writer stays. */
function claims(
  {
    labels = {},
    list,
    wanted,
    owned = [],
    shared = [],
    known = true,
    implied,
    listed,
    servicesKnown = true,
    others = [],
  }: Given,
  by = labeler,
): string[] {
  const annotations: Record<string, string> = {
    ...(list === undefined ? {} : { [LIST]: list }),
    ...(implied === undefined ? {} : { 'rollcall.dev/implied-labels': implied }),
    ...(listed && { 'rollcall.dev/keys': JSON.stringify(listed) }),
  };
  const poolLabelSet = wanted && poolSet(wanted);
  const seen = snapshot({
    labels,
    annotations,
    pool: 'gold',
    poolLabelSet,
    poolLabelSetsKnown: known,
    servicesKnown,
    otherPools: others.map(({ pool }) => pool),
    otherPoolLabelSets: others,
    ownedLabels: new Set(owned),
    sharedLabels: new Set(shared),
  });
  const node = { ...seen, readiness: new Map(), ageMs: 0 };
  return by.claims(node).map(({ key, stance, ownership, value, isForeign, isLeft }) => {
    return `${key} ${stance} ${ownership} ${value}${isForeign ? ' foreign' : ''}${isLeft ? ' left' : ''}`;
  });
}

const NO_LIST = `${LIST} absent exclusive `;

describe('a label that the pool asks for', () => {
  test('is ours, and listed, where it is absent', () => {
    expect(claims({ wanted: { tier: 'gold' } })).toEqual([
      'tier present exclusive gold',
      `${LIST} present exclusive ["tier"]`,
    ]);
  });

  test('is ours where it is listed, whatever its value is', () => {
    const given = { labels: { tier: 'edited' }, list: '["tier"]', wanted: { tier: 'gold' } };
    expect(claims(given)).toEqual(['tier present exclusive gold', `${LIST} present exclusive ["tier"]`]);
  });

  test('is left alone where it has another value and is not listed', () => {
    expect(claims({ labels: { tier: 'theirs' }, wanted: { tier: 'gold' } })).toEqual([
      'tier absent shared gold foreign',
      NO_LIST,
    ]);
  });

  test('is left alone, and not listed, where another writer set the same value', () => {
    const given = { labels: { tier: 'gold' }, wanted: { tier: 'gold' } };
    expect(claims(given)).toEqual(['tier absent shared gold', NO_LIST]);
    expect(claims({ ...given, owned: ['tier'], shared: ['tier'] })).toEqual(['tier present shared gold', NO_LIST]);
  });

  test('is ours, and listed again, where only rollcall applies it', () => {
    const given = { labels: { tier: 'gold' }, owned: ['tier'], wanted: { tier: 'gold' } };
    expect(claims(given)).toEqual(['tier present exclusive gold', `${LIST} present exclusive ["tier"]`]);
    expect(claims({ ...given, wanted: { tier: 'silver' } })).toEqual([
      'tier present exclusive silver',
      `${LIST} present exclusive ["tier"]`,
    ]);
  });

  test('is ours where the Node lists it for a NodeService that has it no longer, whoever applies it as well', () => {
    const given = { labels: { tier: 'true' }, owned: ['tier'], shared: ['tier'], wanted: { tier: 'gold' } };
    const listed = { 'label:tier': 'service:u' };
    expect(claims({ ...given, listed })).toEqual(['tier present exclusive gold', `${LIST} present exclusive ["tier"]`]);
    expect(claims({ ...given, listed, servicesKnown: false })).toEqual(['tier absent shared gold foreign', NO_LIST]);
    expect(claims({ ...given, listed: { 'label:tier': 'rule:service' } })).toEqual([
      'tier absent shared gold foreign',
      NO_LIST,
    ]);
  });

  test('is ours with an empty value', () => {
    expect(claims({ wanted: { tier: '' } })).toEqual(['tier present exclusive ', `${LIST} present exclusive ["tier"]`]);
  });
});

describe('a listed label that the pool does not ask for', () => {
  test('goes, its key refused or its pool without a set', () => {
    const labels = { old: '1', 'example.org/x': '1' };
    const list = '["old","example.org/x"]';
    const gone = ['old absent exclusive ', 'example.org/x absent exclusive ', NO_LIST];
    expect(claims({ labels, list, wanted: { 'example.org/x': '2' } })).toEqual(gone);
    expect(claims({ labels, list })).toEqual(gone);
  });

  test('stays where it identifies the node or another labeler decides, and stays listed where it is Kubernetes’ own', () => {
    const keys = ['agentpool', 'kubernetes.io/os', 'a.k8s.io/x', WS_DAEMON_LABEL];
    const labels = Object.fromEntries(keys.map((key) => [key, 'x']));
    expect(claims({ labels, list: JSON.stringify(keys), wanted: {} })).toEqual([
      'kubernetes.io/os keep exclusive x left',
      'a.k8s.io/x keep exclusive x left',
      `${LIST} present exclusive ["a.k8s.io/x","kubernetes.io/os"]`,
    ]);
  });

  test('goes where a person handed it over, although no pool may set it', () => {
    const handed = poolLabelsLabeler({ ...reserved, removed: ['kubernetes.io/os'] });
    const given = {
      labels: { 'kubernetes.io/os': 'x' },
      list: '["kubernetes.io/os"]',
      wanted: { 'kubernetes.io/os': 'x' },
    };
    expect(claims(given, handed)).toEqual(['kubernetes.io/os absent exclusive ', NO_LIST]);
  });
});

describe('a listed label that another pool of the node asks for', () => {
  const other = { ...poolSet({ tier: 'other', size: 'xl' }), name: 'other', pool: 'other' };
  const given = { labels: { tier: 'other', size: 'xl' }, list: '["tier","size"]', others: [other] };

  test('stays, and stays listed, where the pool asks for nothing or for another value', () => {
    const list = `${LIST} present exclusive ["size","tier"]`;
    const left = ['tier keep exclusive other left', 'size keep exclusive xl left'];
    expect(claims(given)).toEqual([...left, list]);
    expect(claims({ ...given, wanted: { tier: 'gold' } })).toEqual([...left, list]);
  });

  test('follows the pool where rollcall applied it', () => {
    expect(claims({ ...given, wanted: { tier: 'gold' }, owned: ['tier', 'size'] })).toEqual([
      'tier present exclusive gold',
      'size absent exclusive ',
      `${LIST} present exclusive ["tier"]`,
    ]);
  });

  test('goes where the other pool asks for other keys', () => {
    expect(claims({ ...given, labels: { old: '1' }, list: '["old"]' })).toEqual(['old absent exclusive ', NO_LIST]);
  });
});

test('a label that identifies a pool or a node is neither set nor removed, whichever label names the pool', () => {
  const registry = registryOf({ poolLabels: ['a', 'b'] });
  const labeling = poolLabelsLabeler({ ...reserved, keys: registry });
  const identity = ['b', 'agent', 'karpenter.sh/nodepool', 'lke.linode.com/pool-id'];
  const wanted = Object.fromEntries(identity.map((key) => [key, 'blue']));
  expect(claims({ labels: { a: 'gold' }, wanted }, labeling)).toEqual([NO_LIST]);
  const there = { labels: { a: 'gold', agent: 'blue' }, list: '["agent"]' };
  expect(claims({ ...there, wanted: {} }, labeling)[0]).toBe('agent keep exclusive blue left');
});

describe('a list that cannot be read', () => {
  test('removes nothing, and is written anew', () => {
    const given = { labels: { old: '1' }, list: '["old"', wanted: { tier: 'gold' } };
    expect(claims(given)).toEqual(['tier present exclusive gold', `${LIST} present exclusive ["tier"]`]);
  });

  test('is told to people', () => {
    const node = { ...snapshot({ annotations: { [LIST]: 'x' } }), readiness: new Map(), ageMs: 0 };
    expect(labeler.claims(node).at(-1)?.reason).toContain('not a JSON array of keys');
  });
});

test('while the sets are not known, what is listed or applied stays as it is, unless another labeler has a say', () => {
  const owned = ['unlisted', 'rule', 'fact.rollcall.dev/os', 'device.rollcall.dev/x', WS_DAEMON_LABEL];
  const keys = [...owned, 'old', 'agentpool', 'theirs'];
  const labels = Object.fromEntries(keys.map((key) => [key, '1']));
  const list = '["old","agentpool"]';
  expect(claims({ labels, list, owned, implied: '["rule"]', known: false })).toEqual([
    'old keep exclusive 1',
    'unlisted keep exclusive 1',
    `${LIST} keep exclusive ${list}`,
  ]);
});

test('each claim says where it comes from', () => {
  const reasons = (given: Parameters<typeof snapshot>[0]) =>
    labeler.claims({ ...snapshot(given), readiness: new Map(), ageMs: 0 }).map(({ reason }) => reason);
  const annotations = { [LIST]: '["old"]' };
  expect(reasons({ pool: 'gold', poolLabelSet: poolSet({ tier: 'gold' }) })[0]).toBe(
    'NodePoolLabels rollcall/gold of the pool gold',
  );
  expect(reasons({ pool: 'gold', poolLabelSet: poolSet({ tier: 'gold' }, 'NodePoolLabelSet') })[0]).toBe(
    'NodePoolLabelSet rollcall/gold of the pool gold',
  );
  expect(reasons({ pool: 'gold', annotations })[0]).toContain(
    'the pool gold has no NodePoolLabels or NodePoolLabelSet',
  );
  expect(reasons({ annotations })[0]).toContain('the node is in no pool');
});

test('a label that goes is told by the set that asked for it, or by the want of a pool', () => {
  const object = (given: Parameters<typeof snapshot>[0]) => {
    const seen = snapshot({ annotations: { [LIST]: '["old"]' }, ...given });
    return labeler.claims({ ...seen, readiness: new Map(), ageMs: 0 })[0]?.object;
  };
  expect(object({ pool: 'gold', poolLabelSet: poolSet({}) })).toBe('labels of the pool gold');
  expect(object({ pool: 'gold' })).toBe('labels of the pool gold');
  expect(object({})).toBe('no pool');
});
