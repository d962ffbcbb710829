import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ObservedNode } from '../../fleet/observed-node.ts';
import type { Claim } from '../labelers/labeler.ts';
import { formatManagedLabels, parseManagedLabels } from '../labelers/managed-labels.ts';
import { mergeClaims } from './intent.ts';
import type { AskSetAside, SetAsideCause } from './plan.ts';
import { apply, claim, observed } from './plan-node.test-fixtures.ts';
import { planNode } from './plan-node.ts';

const KEYS = ['a', 'b', 'c', 'd'];

describe('for every node and whatever is set aside', () => {
  const MANAGED = 'nodepool.banzaicloud.io/managed-labels';
  const IMPLIED = 'rollcall.dev/implied-labels';
  const key = fc.constantFrom(...KEYS);
  const wanted = fc.dictionary(key, fc.constantFrom('1', '2'));
  const scene = fc.record({
    labels: fc.dictionary(key, fc.constantFrom('1', '2', 'x')),
    owned: fc.subarray([...KEYS, MANAGED, IMPLIED]),
    lists: fc.dictionary(fc.constantFrom(MANAGED, IMPLIED), fc.subarray(KEYS).map(formatManagedLabels)),
    pool: wanted,
    rules: wanted,
    others: wanted,
    held: fc.subarray(KEYS),
    cause: fc.constantFrom<SetAsideCause>('denied', 'invalid', 'foreign'),
    out: fc.subarray([...KEYS, MANAGED, IMPLIED]),
  });
  type Scene = typeof scene extends fc.Arbitrary<infer T> ? T : never;

  function nodeOf({ labels, lists, owned }: Scene): ObservedNode {
    const there = (values: object) => new Set(owned.filter((each) => each in values));
    return { ...observed(labels), annotations: lists, owned: { labels: there(labels), annotations: there(lists) } };
  }

  /** As the labelers of pools, of rules and of devices claim. */
  function intentFor({ pool, rules, others, held, lists, owned }: Scene) {
    const wants = (labeler: string, labels: Record<string, string>, ownership: Claim['ownership']) =>
      Object.entries(labels).map(([each, value]) => ({ ...claim({ key: each, value, ownership }), labeler }));
    const gone = (list: string, labels: Record<string, string>, ownership: Claim['ownership']) =>
      [...(parseManagedLabels(lists[list]) ?? [])]
        .filter((each) => !(each in labels))
        .map((each) => ({ ...claim({ key: each, stance: 'withhold', ownership }), labeler: list }));
    const listOf = (list: string, labels: Record<string, string>) => {
      const keys = Object.keys(labels);
      const stance = keys.length > 0 ? 'want' : 'withhold';
      const isForced = list === IMPLIED && (stance === 'want' || owned.includes(list));
      const ownership = isForced ? 'forced' : 'exclusive';
      return claim({ kind: 'annotation', key: list, value: formatManagedLabels(keys), stance, ownership });
    };
    return mergeClaims([
      ...wants('pool-labels', pool, 'exclusive'),
      ...gone(MANAGED, pool, 'exclusive'),
      listOf(MANAGED, pool),
      ...wants('implied-labels', rules, 'forced'),
      ...gone(IMPLIED, rules, 'forced'),
      listOf(IMPLIED, rules),
      ...wants('device-labels', others, 'shared'),
      ...held.map((each) => claim({ key: each, stance: 'hold', ownership: 'shared' })),
    ]);
  }

  function planned(given: Scene) {
    const node = nodeOf(given);
    const intent = intentFor(given);
    const ask: AskSetAside = (ref) => (given.out.includes(ref.key) ? given.cause : undefined);
    const made = planNode(node, intent, ask);
    return { node, intent, ask, made, after: made ? apply(node, made) : node };
  }

  /** Each list, and the labels that are to be in it. */
  function listsOf({ pool, rules }: Scene) {
    return [
      [MANAGED, pool],
      [IMPLIED, rules],
    ] as const;
  }

  /** Claimed, and not as one that may go. */
  function isKept(intent: ReturnType<typeof mergeClaims>, id: string): boolean {
    const stance = intent.get(id)?.stance;
    return stance === 'want' || stance === 'hold';
  }

  test('no owned label goes for it, unless somebody else owns that label too', () => {
    fc.assert(
      fc.property(scene, (given) => {
        const { node, intent, after } = planned(given);
        for (const each of node.owned.labels) {
          const isForeign = given.cause === 'foreign' && given.out.includes(each);
          if (isKept(intent, `label:${each}`) && !isForeign) {
            expect(after.labels[each]).toBeDefined();
            expect(after.owned.labels).toContain(each);
          }
        }
      }),
      { numRuns: 2000 },
    );
  });

  test('a list goes only where it has nothing more to name, and each wanted label that was listed stays so', () => {
    fc.assert(
      fc.property(scene, (given) => {
        const { intent, after } = planned(given);
        for (const [list, labels] of listsOf(given)) {
          const before = [...(parseManagedLabels(given.lists[list]) ?? [])];
          const now = parseManagedLabels(after.annotations[list]) ?? new Set();
          const isForeign = given.cause === 'foreign' && given.out.includes(list);
          if (isForeign || !isKept(intent, `annotation:${list}`)) continue;
          const lasting = before.filter((each) => each in labels && each in given.labels);
          expect(lasting.filter((each) => !now.has(each))).toEqual([]);
        }
      }),
      { numRuns: 2000 },
    );
  });

  test('a label that is not set, and was not listed, is not listed', () => {
    fc.assert(
      fc.property(scene, (given) => {
        const { intent, after } = planned(given);
        for (const [list, labels] of listsOf(given)) {
          const before = parseManagedLabels(given.lists[list]) ?? new Set();
          const added = [...(parseManagedLabels(after.annotations[list]) ?? [])].filter((each) => !before.has(each));
          for (const each of added) {
            expect(labels).toHaveProperty(each);
            expect(after.owned.labels).toContain(each);
            expect(after.labels[each]).toBe(intent.get(`label:${each}`)?.value);
          }
        }
      }),
      { numRuns: 2000 },
    );
  });

  test('a plan that was carried out leaves nothing to plan', () => {
    fc.assert(
      fc.property(scene, (given) => {
        const { intent, ask, made, after } = planned(given);
        // What is somebody else's goes and comes with them.
        if (!made || given.cause === 'foreign') return;
        const again = planNode(after, intent, ask);
        // A shared key waits while another is taken by force.
        const last = again ? planNode(apply(after, again), intent, ask) : undefined;
        expect(last).toBeUndefined();
      }),
      { numRuns: 2000 },
    );
  });
});
