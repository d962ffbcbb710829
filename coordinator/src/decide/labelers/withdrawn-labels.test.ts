import { expect, test } from 'vitest';
import { serviceOf } from '../../model/services.test-fixtures.ts';
import type { Service } from '../../model/services.ts';
import { isOfService, type Origin } from '../../state/node-keys.ts';
import { snapshot } from '../readiness/readiness.test-fixtures.ts';
import type { EvaluatedNode, LabelWishes } from './labeler.ts';
import { type WithdrawnLabel, withdrawnLabels } from './withdrawn-labels.ts';

const NOTE = 'rollcall.dev/withdrawn-labels';
const KEYS = 'rollcall.dev/keys';
const READY = 'gitpod.io/ws-daemon_ready_ns_default';

const notes = (
  isIgnored: (withdrawn: WithdrawnLabel) => boolean,
  services: readonly Service[] = [],
  derived: Readonly<Record<string, string>> = {},
  hasEvictionPlace = (_service: Service) => false,
) => {
  const rules = () => ({
    dependents: (labels: Iterable<string>) => new Set([...labels].flatMap((key) => derived[key] ?? [])),
  });
  return withdrawnLabels({ isIgnored, services: () => services, rules, hasEvictionPlace });
};

function noted(change: Partial<EvaluatedNode>, wishes: LabelWishes = new Map()): string | undefined {
  const node = { ...snapshot(change), readiness: new Map(), ageMs: 0 };
  const [claim] = notes(({ label }) => label === READY).claims(node, wishes, new Map());
  return claim && `${claim.stance} ${claim.value}`;
}

const wish = (stance: 'present' | 'absent' | 'keep', value = 'true', ownership: 'shared' | 'exclusive' = 'shared') =>
  new Map([['a', { stance, value, ownership }]]);
const ours = { labels: { a: 'true' }, ownedLabels: new Set(['a']) };
const withNote = (text: string) => ({ annotations: { [NOTE]: text } });

test('a label that rollcall takes away is noted with its value', () => {
  expect(noted(ours, wish('absent'))).toBe('present {"a":"true"}');
  expect(noted(ours)).toBe('present {"a":"true"}');
  expect(noted({ labels: { a: 'gold' } }, wish('absent', 'gold', 'exclusive'))).toBe('present {"a":"gold"}');
});

test('so is one that changes its value', () => {
  expect(noted({ ...ours, labels: { a: 'gold' } }, wish('present', 'silver', 'exclusive'))).toBe(
    'present {"a":"gold"}',
  );
});

test('it stays noted until the label is back with that value', () => {
  const before = withNote('{"a":"true"}');
  expect(noted(before)).toBe('present {"a":"true"}');
  expect(noted(before, wish('present'))).toBe('present {"a":"true"}');
  expect(noted({ ...before, labels: { a: 'gold' } })).toBe('present {"a":"true"}');
  expect(noted({ ...before, labels: { a: 'true' } })).toBe('absent ');
});

test('labels that stay, that are others’, or that no pod is evicted for are not noted', () => {
  expect(noted(ours, wish('present'))).toBeUndefined();
  expect(noted(ours, wish('keep'))).toBeUndefined();
  expect(noted({ ...ours, sharedLabels: new Set(['a']) }, wish('absent'))).toBeUndefined();
  expect(noted({ labels: { a: 'true' } }, wish('absent'))).toBeUndefined();
  expect(noted({ labels: { [READY]: 'true' }, ownedLabels: new Set([READY]) })).toBeUndefined();
});

test('a label is not noted where what it is listed for, or what claims it now, is a service', () => {
  const notedFor = (listed: string, claimed: Origin) => {
    const annotations = { 'rollcall.dev/keys': JSON.stringify({ 'label:a': listed }) };
    const node = { ...snapshot({ ...ours, annotations }), readiness: new Map(), ageMs: 0 };
    const wishes: LabelWishes = new Map([['a', { stance: 'absent', value: '', ownership: 'forced', origin: claimed }]]);
    return notes(({ origin }) => isOfService(origin)).claims(node, wishes, new Map()).length;
  };
  expect(notedFor('rule', 'rule')).toBe(1);
  expect(notedFor('rule:service', 'rule')).toBe(0);
  expect(notedFor('rule', 'rule:service')).toBe(0);
});

test('why a label goes, or stays away, says whether it is noted', () => {
  const isIgnored = ({ cause }: WithdrawnLabel) => cause === 'configuration';
  const wishes: LabelWishes = new Map([
    ['a', { stance: 'absent', value: '', ownership: 'shared', cause: 'configuration' }],
  ]);
  const claimsOf = (change: Partial<EvaluatedNode>) =>
    notes(isIgnored).claims({ ...snapshot(change), readiness: new Map(), ageMs: 0 }, wishes, new Map());
  expect(claimsOf(ours)).toEqual([]);
  expect(claimsOf(withNote('{"a":"true"}'))).toMatchObject([{ stance: 'absent' }]);
});

test.each(['a', 'b'])(
  'the label %s of a service is struck out where no service in force requests it on the node',
  (key) => {
    const annotations = { ...withNote(`{"${key}":"true"}`).annotations, [KEYS]: `{"label:${key}":"service:uid"}` };
    const claimsOf = (...services: Service[]) => {
      const node = { ...snapshot({ labels: { pool: 'x' }, annotations }), readiness: new Map(), ageMs: 0 };
      const [claim] = notes(() => false, services, { a: 'b' }).claims(node, new Map(), new Map());
      return claim?.stance;
    };
    const publish = { label: 'a' };
    const nodeSelector = (pool: string) => ({ matchLabels: { pool } });
    expect(claimsOf(serviceOf('s', { publish }))).toBe('present');
    expect(claimsOf(serviceOf('s', { publish, nodeSelector: nodeSelector('x') }))).toBe('present');
    expect(claimsOf(serviceOf('s', { publish, nodeSelector: nodeSelector('y') }))).toBe('absent');
    expect(claimsOf(serviceOf('s', { publish: { label: 'c' } }))).toBe('absent');
    expect(claimsOf()).toBe('absent');
  },
);

test('a label that no pod is evicted for any more is struck out', () => {
  expect(noted(withNote(`{"${READY}":"true"}`))).toBe('absent ');
});

test('what this replica took is noted even where the node no longer tells, until it is back', () => {
  expect(noted({ takenLabels: { a: 'true', [READY]: 'true' } })).toBe('present {"a":"true"}');
  expect(noted({ takenLabels: { a: 'true' }, labels: { a: 'true' } })).toBeUndefined();
});

test('the latest stand last, and where there are too many the oldest are struck out', () => {
  expect(noted({ ...ours, ...withNote('{"z":"1","b":"2"}') }, wish('absent'))).toBe(
    'present {"z":"1","b":"2","a":"true"}',
  );
  expect(noted({ ...ours, ...withNote('{"a":"old","b":"2"}') }, wish('absent'))).toBe('present {"b":"2","a":"true"}');
  const many = Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`k${index}`, '']));
  const text = noted({ ...ours, ...withNote(JSON.stringify(many)) }, wish('absent')) ?? '';
  const keys = Object.keys(JSON.parse(text.slice('present '.length)) as object);
  expect([keys.length, keys[0], keys.at(-1)]).toEqual([50, 'k1', 'a']);
});

test('a note that cannot be read is begun anew', () => {
  for (const text of ['', '[]', 'null', '{"b":1}', 'x', '["x"]', '"text"', '7'])
    expect(noted(withNote(text))).toBe('absent ');
});

test('a place in the budget of evictions is noted, and is kept until the label is back', () => {
  const service = serviceOf('x', { publish: { label: 'a' } });
  const noteOf = (change: Partial<EvaluatedNode>, hasPlace: boolean, wishes: LabelWishes = new Map()) => {
    const node = { ...snapshot({ servicesKnown: true, ...change }), readiness: new Map(), ageMs: 0 };
    const [claim] = notes(
      () => false,
      [service],
      {},
      (each) => hasPlace && each === service,
    ).claims(node, wishes, new Map());
    return claim?.value;
  };
  const placed = '{"a":"true","/services":{"a":true}}';
  expect(noteOf(ours, false)).toBe('{"a":"true","/services":{"a":false}}');
  expect(noteOf(ours, true)).toBe(placed);
  expect(noteOf(withNote(placed), false)).toBe(placed);
  expect(noteOf({ ...withNote(placed), labels: { a: 'true' } }, true, wish('present'))).toBe('');
  expect(noteOf(withNote('{"a":"true","/services":{"a":7}}'), false)).toBe('{"a":"true","/services":{"a":false}}');
  expect(noteOf(withNote('{"a":"true","/services":"a"}'), false)).toBe('{"a":"true","/services":{"a":false}}');
});

test('the label of a service that nothing requests any more is struck out, whatever a person removed from the node', () => {
  const before = withNote('{"a":"true","tier":"gold","/services":{"a":false}}');
  const node = { ...snapshot({ servicesKnown: true, ...before }), readiness: new Map(), ageMs: 0 };
  const [claim] = notes(() => false, [serviceOf('x', { publish: { label: 'renamed' } })]).claims(
    node,
    new Map(),
    new Map(),
  );
  expect(claim?.value).toBe('{"tier":"gold"}');
});
