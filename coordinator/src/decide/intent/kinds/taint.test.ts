import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Taint } from '../../../state/observed-node.ts';
import { mergeClaims } from '../intent.ts';
import type { TaintChange } from '../plan.ts';
import { claim, observed as nodeOf } from '../plan-node.test-fixtures.ts';
import type { Operation } from './kind.ts';
import { planTaints, taintsWrite } from './taint.ts';

const node = { name: 'n', uid: 'u', resourceVersion: '1' };
const taintPatch = (ref: typeof node, taints: TaintChange) =>
  taintsWrite.patch({ write: 'taints', taints }, ref, false).body as Operation[];
const taint = (key: string, effect = 'NoSchedule') => ({ key, value: 'true', effect });
const uidTest = { op: 'test', path: '/metadata/uid', value: 'u' };

describe('the patch of taints', () => {
  test('begins the list only where there is none', () => {
    expect(taintPatch(node, { add: [taint('a')], remove: [], observed: [] })).toEqual([
      uidTest,
      { op: 'test', path: '/spec/taints', value: null },
      { op: 'add', path: '/spec/taints', value: [taint('a')] },
    ]);
  });

  test('removes every taint of a key, whatever its effect, and tests what it removes', () => {
    const observed = [taint('a'), taint('x'), taint('a', 'NoExecute')];
    expect(taintPatch(node, { add: [], remove: ['a'], observed })).toEqual([
      uidTest,
      { op: 'test', path: '/spec/taints/2/key', value: 'a' },
      { op: 'test', path: '/spec/taints/2/effect', value: 'NoExecute' },
      { op: 'remove', path: '/spec/taints/2' },
      { op: 'test', path: '/spec/taints/0/key', value: 'a' },
      { op: 'test', path: '/spec/taints/0/effect', value: 'NoSchedule' },
      { op: 'remove', path: '/spec/taints/0' },
    ]);
  });

  test('does not take another effect of the key that came before the one to remove', () => {
    const patch = taintPatch(node, { add: [], remove: ['a'], observed: [taint('a', 'NoExecute')] });
    expect(() => applied([taint('a', 'PreferNoSchedule'), taint('a', 'NoExecute')], patch)).toThrow();
  });

  test('says in the same request whose the taints are, and tests what was said before', () => {
    const path = '/metadata/annotations/rollcall.dev~1keys';
    const noteOf = (before: string | undefined, after: string | undefined) =>
      taintPatch(node, { add: [], remove: [], observed: [taint('x')], keys: { before, after } }).slice(1);
    expect(noteOf(undefined, 'b')).toEqual([
      { op: 'test', path, value: null },
      { op: 'add', path, value: 'b' },
    ]);
    expect(noteOf('a', 'b')).toEqual([
      { op: 'test', path, value: 'a' },
      { op: 'add', path, value: 'b' },
    ]);
    expect(noteOf('a', undefined)).toEqual([
      { op: 'test', path, value: 'a' },
      { op: 'remove', path },
    ]);
  });

  test('begins the annotations only where there are none', () => {
    const keys = { before: undefined, after: 'b', intoNone: true } as const;
    expect(taintPatch(node, { add: [], remove: [], observed: [], keys })).toEqual([
      uidTest,
      { op: 'test', path: '/metadata/annotations', value: null },
      { op: 'add', path: '/metadata/annotations', value: { 'rollcall.dev/keys': 'b' } },
    ]);
  });

  test('leaves the taints of others as they are, in order', () => {
    const keys = fc.constantFrom('ours-1', 'ours-2', 'x', 'y', 'z');
    fc.assert(
      fc.property(
        fc.array(keys),
        fc.subarray(['ours-1', 'ours-2']),
        fc.subarray(['new-1', 'new-2']),
        (on, gone, add) => {
          const observed = on.map((key) => taint(key));
          const after = applied(
            observed,
            taintPatch(node, { add: add.map((key) => taint(key)), remove: gone, observed }),
          );
          expect(after.map(({ key }) => key)).toEqual([...on.filter((key) => !gone.includes(key)), ...add]);
        },
      ),
    );
  });
});

const EFFECTS = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'] as const;
/** One taint of each key and effect, as the API server has it. */
const taintsArbitrary = fc.uniqueArray(
  fc.record({
    key: fc.constantFrom('ours', 'x'),
    value: fc.constantFrom('true', 'other'),
    effect: fc.constantFrom(...EFFECTS),
  }),
  { selector: ({ key, effect }) => `${key} ${effect}` },
);

test('a claim of a taint holds after one patch, whatever effects of its key are there and are added meanwhile', () => {
  const claims = fc.record({
    stance: fc.constantFrom('present' as const, 'absent' as const, 'keep' as const),
    effect: fc.constantFrom(undefined, ...EFFECTS),
  });
  fc.assert(
    fc.property(taintsArbitrary, claims, taintsArbitrary, (there, { stance, effect }, later) => {
      const intent = mergeClaims([
        claim({ kind: 'taint', key: 'ours', value: 'true', stance, ...(effect && { effect }) }),
      ]);
      const settle = (taints: readonly Taint[]) => {
        const change = planTaints({ ...nodeOf({}), taints }, intent);
        return change ? (applied([...taints], taintPatch(node, change)) as Taint[]) : taints;
      };
      const ours = (taints: readonly Taint[]) => taints.filter(({ key }) => key === 'ours');
      const expectSettled = (before: readonly Taint[]) => {
        const after = settle(before);
        expect(after.filter(({ key }) => key !== 'ours')).toEqual(before.filter(({ key }) => key !== 'ours'));
        if (stance === 'keep') expect(after).toEqual(before);
        if (stance === 'absent') expect(ours(after)).toEqual([]);
        const isAsGood = effect === undefined && ours(before).length === 1 && ours(before)[0]?.effect === 'NoExecute';
        const wanted = isAsGood ? ours(before) : [{ key: 'ours', value: 'true', effect: effect ?? 'NoSchedule' }];
        if (stance === 'present') expect(ours(after)).toEqual(wanted);
        expect(settle(after)).toBe(after);
        return after;
      };
      const after = expectSettled(there);
      // Another client adds more taints of the key.
      const isNew = (taint: Taint) => !after.some(({ key, effect }) => key === taint.key && effect === taint.effect);
      expectSettled([...after, ...later.filter(isNew)]);
    }),
  );
});

/** What an API server makes of the patch, as far as it concerns the list. */
function applied(observed: Taint[], operations: ReturnType<typeof taintPatch>): Taint[] {
  const list = [...observed];
  for (const operation of operations.slice(1)) {
    const index = Number(operation.path.split('/')[3]);
    const field = operation.path.split('/')[4] as 'key' | 'effect' | undefined;
    if (operation.op === 'test' && field) expect(list[index]?.[field]).toBe(operation.value);
    else if (operation.op === 'test') expect(list).toEqual([]);
    else if (operation.op === 'remove') list.splice(index, 1);
    else if (operation.path === '/spec/taints') list.push(...(operation.value as Taint[]));
    else list.push(operation.value as Taint);
  }
  return list;
}
