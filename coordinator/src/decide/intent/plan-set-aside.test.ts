import { describe, expect, test } from 'vitest';
import type { ObservedNode } from '../../state/observed-node.ts';
import { mergeClaims } from './intent.ts';
import type { AskSkipped } from './plan.ts';
import { claim, observed } from './plan-node.test-fixtures.ts';
import { planNode } from './plan-node.ts';

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
