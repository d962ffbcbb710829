import { describe, expect, test } from 'vitest';
import { NO_CONDITION_OWNERS } from '../../state/observed-conditions.ts';
import type { ObservedNode } from '../../state/observed-node.ts';
import { mergeClaims } from './intent.ts';
import type { AskSkipped } from './plan.ts';
import { apply, claim, observed } from './plan-node.test-fixtures.ts';
import { planNode } from './plan-node.ts';

const NODE = { name: 'n', uid: 'u', resourceVersion: '7' };

describe('a key that is skipped', () => {
  const LIST = 'nodepool.banzaicloud.io/managed-labels';
  const list = (...keys: string[]) => claim({ kind: 'annotation', key: LIST, value: JSON.stringify(keys) });
  const KEYS = 'rollcall.dev/keys';
  const keysFor = (...keys: string[]) =>
    JSON.stringify(Object.fromEntries(keys.map((key) => [`label:${key}`, 'pool'])));
  const listed = (labels: Record<string, string>, ...keys: string[]): ObservedNode => ({
    ...observed(labels, Object.keys(labels)),
    annotations: { [LIST]: JSON.stringify(keys), [KEYS]: keysFor(...keys) },
    owned: { labels: new Set(Object.keys(labels)), annotations: new Set([LIST, KEYS]) },
  });
  const denying =
    (...keys: string[]): AskSkipped =>
    ({ key }) =>
      keys.includes(key) ? 'denied' : undefined;

  test('stays as it is where it is ours, and takes no force', () => {
    const node = observed({ k: 'old', theirs: '1' }, ['k']);
    const shared = { key: 'theirs', value: '2', ownership: 'shared' } as const;
    expect(planNode(node, mergeClaims([claim()]), denying('k'))).toBeUndefined();
    const made = planNode(node, mergeClaims([claim(), claim(shared)]), denying('k'));
    expect(made?.set).toEqual({ labels: { k: 'old', theirs: '2' }, annotations: {}, force: false });
    expect(planNode(observed({ k: 'old' }), mergeClaims([claim()]), denying('k'))).toBeUndefined();
  });

  test('is released where another writer owns it too', () => {
    const shared = claim({ ownership: 'shared' });
    expect(planNode(observed({ k: 'old' }, ['k']), mergeClaims([shared]), () => 'foreign')?.set?.labels).toEqual({});
  });

  test('is let go of where it is held and another writer has taken it, as the watch will show', () => {
    const held = mergeClaims([claim({ stance: 'keep' }), claim({ key: 'other' })]);
    const node = observed({ k: 'true' }, ['k']);
    expect(planNode(node, held, () => undefined)?.set?.labels).toEqual({ k: 'true', other: 'true' });
    const theirs: AskSkipped = ({ key }) => (key === 'k' ? 'foreign' : undefined);
    expect(planNode(node, held, theirs)?.set?.labels).toEqual({ other: 'true' });
    expect(planNode(node, held, denying('k'))?.set?.labels).toEqual({ k: 'true', other: 'true' });
  });

  test('is left out of the list, also where the list with it is skipped', () => {
    const node = listed({ a: 'true' }, 'a');
    const intent = mergeClaims([claim({ key: 'a' }), claim({ key: 'b' }), list('a', 'b')]);
    const isRefused: AskSkipped = ({ key }, value) =>
      key === 'b' || (key === LIST && value === '["a","b"]') ? 'denied' : undefined;
    expect(planNode(node, intent, isRefused)).toBeUndefined();
    const more = mergeClaims([claim({ key: 'a' }), claim({ key: 'b' }), claim({ key: 'c' }), list('a', 'b', 'c')]);
    expect(planNode(node, more, isRefused)?.set).toMatchObject({
      labels: { a: 'true', c: 'true' },
      annotations: { [LIST]: '["a","c"]' },
    });
  });

  test('stays in the list that named it where a rival deleted it, and not where it is refused', () => {
    const node = listed({ a: 'true' }, 'a', 'b');
    const intent = mergeClaims([claim({ key: 'a' }), claim({ key: 'b' }), list('a', 'b')]);
    const planned = (cause: ReturnType<AskSkipped>) =>
      planNode(node, intent, ({ key }) => (key === 'b' ? cause : undefined));
    expect(planned('foreign')).toBeUndefined();
    expect(planned('contested')).toBeUndefined();
    expect(planned('denied')?.set?.annotations).toEqual({ [LIST]: '["a"]', [KEYS]: keysFor('a') });
  });

  test('that is the list leaves the one that is there', () => {
    const node = listed({ a: 'true' }, 'a');
    const intent = mergeClaims([claim({ key: 'a' }), claim({ key: 'b' }), list('a', 'b')]);
    const { set, withdrawal } = planNode(node, intent, denying(LIST)) ?? {};
    expect(set?.labels).toEqual({ a: 'true', b: 'true' });
    expect(set?.annotations).toEqual({ [LIST]: '["a"]', [KEYS]: keysFor('a') });
    expect(withdrawal).toBeUndefined();
  });

  test('is skipped without a request where another writer gave it another value', () => {
    const node = observed({ k: 'mine' });
    const left = claim({ stance: 'absent', ownership: 'shared', reason: 'is theirs', isForeign: true });
    const made = planNode(node, mergeClaims([left]), () => undefined);
    const foreign = [{ kind: 'label', key: 'k', cause: 'foreign', wanted: 'true', message: 'is theirs' }];
    expect(made).toEqual({ node: expect.anything(), foreign });
    expect(planNode(node, mergeClaims([left]), () => 'foreign')).toBeUndefined();
    // Another labeler wants it with more force.
    expect(planNode(node, mergeClaims([left, claim()]), () => undefined)?.foreign).toBeUndefined();
  });

  test('is in no list where it is shared with others, skipped or not', () => {
    const intent = mergeClaims([claim({ key: 'a' }), claim({ key: 's', ownership: 'shared' }), list('a', 's')]);
    expect(planNode(observed({}), intent, () => undefined)?.set).toMatchObject({
      labels: { a: 'true', s: 'true' },
      annotations: { [LIST]: '["a"]' },
    });
  });

  test('and is the only one to list leaves no list', () => {
    const node = listed({}, 'gone');
    const intent = mergeClaims([claim({ key: 'b' }), list('b')]);
    expect(planNode(node, intent, denying('b'))).toMatchObject({ withdrawal: { labels: [], annotations: [LIST] } });
    const forced = mergeClaims([claim({ key: 'b' }), { ...list('b'), ownership: 'forced' }]);
    expect(planNode(node, forced, denying('b'))?.set).toMatchObject({ annotations: {} });
    const theirs = { ...node, owned: observed({}).owned };
    expect(planNode(theirs, forced, denying('b'))).toMatchObject({ withdrawal: { annotations: [LIST, KEYS] } });
  });

  test('changes nothing about a list that is held', () => {
    const held = { kind: 'annotation', key: LIST, value: '["gone"]', stance: 'keep' } as const;
    const label = claim({ key: 'gone', stance: 'keep' });
    expect(planNode(listed({}, 'gone'), mergeClaims([claim(held), label]), () => undefined)).toBeUndefined();
  });
});

describe('a key whose removal is left out for now', () => {
  const LIST = 'nodepool.banzaicloud.io/managed-labels';
  const KEYS = 'rollcall.dev/keys';
  const text = (...keys: string[]) => JSON.stringify(Object.fromEntries(keys.map((key) => [`label:${key}`, 'gitpod'])));
  const gone = (key: string) => claim({ key, stance: 'absent', origin: 'gitpod' });
  const staying =
    (cause: ReturnType<AskSkipped>, ...keys: string[]): AskSkipped =>
    ({ key }, wanted) =>
      wanted === undefined && keys.includes(key) ? cause : undefined;
  const nodeWith = (owned: readonly string[]): ObservedNode => ({
    ...observed({ ready: 'true', other: 'true' }, [...owned]),
    annotations: { [KEYS]: text('ready', 'other') },
    owned: { labels: new Set(owned), annotations: new Set([KEYS]) },
  });

  test.each(['contested', 'denied', 'invalid'] as const)('stays, and stays listed until it goes (%s)', (cause) => {
    for (const owned of [['ready', 'other'], []]) {
      const intent = mergeClaims([gone('ready'), gone('other')]);
      const ask = staying(cause, 'ready');
      const made = planNode(nodeWith(owned), intent, ask);
      expect(made?.withdrawal).toEqual({ labels: ['other'], annotations: [] });
      const after = apply(nodeWith(owned), { node: NODE, ...(made?.withdrawal && { withdrawal: made.withdrawal }) });
      const next = planNode(after, intent, ask);
      expect([next?.withdrawal, next?.set?.annotations]).toEqual([undefined, { [KEYS]: text('ready') }]);
      expect(next && planNode(apply(after, next), intent, ask)).toBeUndefined();
    }
  });

  test('stays where an apply without it would remove it', () => {
    const node = { ...observed({ stuck: '1', loose: '1' }, ['stuck', 'loose']) };
    const made = planNode(node, mergeClaims([claim({ key: 'mine' })]), staying('denied', 'stuck'));
    expect(made?.set?.labels).toEqual({ stuck: '1', mine: 'true' });
    const left = apply(node, { node: NODE, ...(made?.set && { set: made.set }) });
    expect(planNode(left, mergeClaims([claim({ key: 'mine' })]), staying('denied', 'stuck'))).toBeUndefined();
  });

  test('is wanted again with no delay', () => {
    const node = observed({ k: 'old' }, ['k']);
    expect(planNode(node, mergeClaims([claim()]), staying('denied', 'k'))?.set?.labels).toEqual({ k: 'true' });
  });

  test.each([LIST, KEYS])('stays where it is a list: %s', (list) => {
    const node = { ...observed({}), annotations: { [list]: list === KEYS ? text('gone') : '["gone"]' } };
    const intent = mergeClaims([claim({ kind: 'annotation', key: LIST, stance: 'absent' })]);
    expect(planNode(node, intent, () => undefined)?.withdrawal?.annotations).toContain(list);
    expect(planNode(node, intent, staying('denied', LIST, KEYS))).toBeUndefined();
  });

  test.each([
    ['a taint that goes', 'absent', undefined],
    ['a taint that comes', 'present', 'true:NoSchedule'],
  ] as const)('stays as it is, listed or not: %s', (_what, stance, wanted) => {
    const taint = { key: 'k', value: 'true', effect: 'NoSchedule' };
    const node = { ...observed({}), taints: stance === 'absent' ? [taint] : [] };
    const intent = mergeClaims([claim({ kind: 'taint', stance, origin: 'gitpod' }), claim({ key: 'l' })]);
    const ask: AskSkipped = ({ kind, key }, value) =>
      kind === 'taint' && key === 'k' && value === wanted ? 'contested' : undefined;
    const made = planNode(node, intent, ask);
    expect([made?.taints, made?.set?.labels]).toEqual([undefined, { l: 'true' }]);
    expect(planNode(node, intent, () => undefined)?.taints).toBeDefined();
  });

  test('stays where it is a condition, and the others go', () => {
    const conditions = ['stuck', 'loose'].map((type, index) => ({
      ...{ type, index, status: 'True', reason: '', message: '', lastTransitionTime: null },
    }));
    const conditionOwners = { ...NO_CONDITION_OWNERS, ours: new Set(['stuck', 'loose']) };
    const node = { ...observed({}), conditions, conditionOwners };
    const going = conditions.map(({ type }) => claim({ kind: 'condition', key: type, stance: 'absent' }));
    const ask = staying('contested', 'stuck');
    const made = planNode(node, mergeClaims(going), ask)?.conditions;
    expect(made).toMatchObject({ write: 'apply', conditions: [{ type: 'stuck', status: 'True' }], news: [] });
    const left = {
      ...node,
      conditions: conditions.slice(0, 1),
      conditionOwners: { ...conditionOwners, ours: new Set(['stuck']) },
    };
    expect(planNode(left, mergeClaims(going), ask)).toBeUndefined();
  });
});
