import { expect, test } from 'vitest';
import { registryOf } from '../../model/keys/key-registry.test-fixtures.ts';
import { snapshot, WS_DAEMON_LABEL, WS_DAEMON_SERVICE } from '../readiness/readiness.test-fixtures.ts';
import type { Claimed, EvaluatedNode } from './labeler.ts';
import { leftOverKeys } from './left-over-keys.ts';

const keys = registryOf({ watchedServices: [WS_DAEMON_SERVICE], poolLabels: ['agentpool'] });
const X = 'example.com/x';

type Given = Partial<EvaluatedNode> & { claimed?: readonly string[] };

function claims(listed: Record<string, string>, { claimed = [], ...change }: Given = {}): string[] {
  const annotations = { 'rollcall.dev/keys': JSON.stringify(listed), ...change.annotations };
  const node = { ...snapshot({ ...change, annotations }), readiness: new Map(), ageMs: 0 };
  const known: Claimed = new Map(claimed.map((id) => [id, { kind: 'label', key: id }]));
  return (['before-rules', 'after-rules'] as const).flatMap((stage) =>
    leftOverKeys(keys, stage)
      .claims(node, new Map(), known)
      .map(({ kind, key, stance, ownership, cause, object }) =>
        [stage, stance, ownership, kind, key, cause, object ?? 'flag'].join(' '),
      ),
  );
}

test('keys that a node lists for a deleted service go, whatever their owner, and a condition is released', () => {
  const listed = { [`label:${X}`]: 'service:u', [`taint:${X}`]: 'service:u', [`condition:${X}`]: 'service:u' };
  expect(claims(listed)).toEqual([
    `before-rules absent exclusive label ${X} configuration service:u`,
    `before-rules absent exclusive taint ${X} configuration service:u`,
    `before-rules absent shared condition ${X} configuration service:u`,
  ]);
});

test('so does a label of Gitpod whose flag is another, and one that earlier versions listed without a uid', () => {
  expect(claims({ [`label:${X}`]: 'gitpod' })).toEqual([`before-rules absent exclusive label ${X} configuration flag`]);
  const annotations = { 'rollcall.dev/service-keys': `{"labels":["${X}"]}` };
  expect(claims({}, { annotations })).toEqual([`before-rules absent exclusive label ${X} configuration label ${X}`]);
});

test('a label of a rule, fact or device is let go of where rollcall applied it, and stays where others did', () => {
  const listed = { 'label:r': 'rule', 'label:s': 'rule:service', 'label:f': 'fact', 'label:theirs': 'rule' };
  const node = { labels: { r: '', s: '', f: '', theirs: '' }, ownedLabels: new Set(['r', 's', 'f']) };
  expect(claims(listed, node)).toEqual([
    'before-rules absent shared label f configuration flag',
    'after-rules absent forced label r configuration flag',
    'after-rules absent forced label s configuration flag',
  ]);
});

test('what a labeler claims, and what is listed for a pool, is left to it', () => {
  expect(claims({ [`label:${X}`]: 'service:u' }, { claimed: [`label:${X}`] })).toEqual([]);
  const annotations = { 'nodepool.banzaicloud.io/managed-labels': `["${X}"]` };
  expect(claims({}, { annotations, ownedLabels: new Set([X]) })).toEqual([]);
});

test('labels and conditions that field ownership alone shows go, by the flag where it is known', () => {
  const node = { ownedLabels: new Set([X, 'fact.rollcall.dev/os']), ownedConditions: new Set([X]) };
  expect(claims({}, node)).toEqual([
    `after-rules absent shared label ${X} configuration label ${X}`,
    'after-rules absent shared label fact.rollcall.dev/os configuration flag',
    `after-rules absent shared condition ${X} configuration flag`,
  ]);
});

test('what Kubernetes, a pool or another labeler has a say in stays, whatever is listed', () => {
  const labels = ['kubernetes.io/os', 'agentpool', WS_DAEMON_LABEL].map((key) => [`label:${key}`, 'service:u']);
  const others = { 'taint:node.kubernetes.io/unreachable': 'service:u', 'condition:Ready': 'service:u' };
  expect(claims({ ...Object.fromEntries(labels), ...others })).toEqual([]);
});

test('what may be of a NodeService stays while these are not known, and nothing else does', () => {
  const listed = { [`label:${X}`]: 'service:u', 'label:g': 'gitpod' };
  expect(claims(listed, { servicesKnown: false, ownedLabels: new Set(['unlisted']) })).toEqual([
    `before-rules keep exclusive label ${X} unknown flag`,
    'before-rules absent exclusive label g configuration flag',
    'after-rules keep shared label unlisted unknown flag',
  ]);
});

test('a taint below the prefix of NodeServices goes although the list was removed, but no taint of a service in force', () => {
  const taints = ['service.rollcall.dev/gone', 'readiness.k8s.io/theirs', 'example.com/theirs'].map((key) => ({
    key,
    effect: 'NoSchedule',
  })) as NonNullable<EvaluatedNode['taints']>;
  expect(claims({}, { taints })).toEqual([
    'after-rules absent exclusive taint service.rollcall.dev/gone configuration flag',
  ]);
  expect(claims({}, { taints, servicesKnown: false })).toEqual([
    'after-rules keep exclusive taint service.rollcall.dev/gone unknown flag',
  ]);
  expect(claims({}, { taints, claimed: ['taint:service.rollcall.dev/gone'] })).toEqual([]);
});
