import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { keysOn, type Origin } from '../../state/node-keys.ts';
import type { ObservedNode } from '../../state/observed-node.ts';
import type { Claim } from '../labelers/labeler.ts';
import { formatManagedLabels } from '../labelers/pool-keys.ts';
import { mergeClaims } from './intent.ts';
import type { AskSkipped, SkippedCause } from './plan.ts';
import { apply, claim, observed } from './plan-node.test-fixtures.ts';
import { planNode } from './plan-node.ts';

const KEYS = ['a', 'b', 'c', 'd'];

describe('for every node and whatever is skipped', () => {
  const MANAGED = 'nodepool.banzaicloud.io/managed-labels';
  const LIST = 'rollcall.dev/keys';
  const key = fc.constantFrom(...KEYS);
  const wanted = fc.dictionary(key, fc.constantFrom('1', '2'));
  const scene = fc.record({
    labels: fc.dictionary(key, fc.constantFrom('1', '2', 'x')),
    owned: fc.subarray([...KEYS, MANAGED, LIST]),
    managed: fc.option(fc.subarray(KEYS), { nil: undefined }),
    listed: fc.option(fc.dictionary(key, fc.constantFrom<Origin>('pool', 'rule', 'device')), { nil: undefined }),
    pool: wanted,
    rules: wanted,
    others: wanted,
    held: fc.subarray(KEYS),
    cause: fc.constantFrom<SkippedCause>('denied', 'invalid', 'foreign'),
    out: fc.subarray([...KEYS, MANAGED, LIST]),
  });
  type Scene = typeof scene extends fc.Arbitrary<infer T> ? T : never;

  function nodeOf({ labels, managed, listed, owned }: Scene): ObservedNode {
    const there = (values: object) => new Set(owned.filter((each) => each in values));
    const ids = Object.entries(listed ?? {}).map(([each, origin]) => [`label:${each}`, origin]);
    const annotations = {
      ...(managed && { [MANAGED]: formatManagedLabels(managed) }),
      ...(listed && { [LIST]: JSON.stringify(Object.fromEntries(ids)) }),
    };
    return { ...observed(labels), annotations, owned: { labels: there(labels), annotations: there(annotations) } };
  }

  /** As the labelers of pools, of rules and of devices claim. */
  function intentFor(given: Scene) {
    const { pool, rules, others, held } = given;
    const keys = [...keysOn(nodeOf(given))];
    const claims = (origin: Origin, wanted: Record<string, string>, ownership: Claim['ownership']) => {
      const gone = keys.flatMap(([id, each]) => (each === origin ? [id.slice('label:'.length)] : []));
      const base = { origin, ownership, labeler: origin };
      return [
        ...Object.entries(wanted).map(([each, value]) => ({ ...claim({ key: each, value }), ...base })),
        ...gone
          .filter((each) => !(each in wanted))
          .map((each) => ({ ...claim({ key: each, stance: 'absent' }), ...base })),
      ];
    };
    const managed = Object.keys(pool);
    const stance = managed.length > 0 ? 'present' : 'absent';
    return mergeClaims([
      ...claims('pool', pool, 'exclusive'),
      claim({ kind: 'annotation', key: MANAGED, value: formatManagedLabels(managed), stance }),
      ...claims('rule', rules, 'forced'),
      ...claims('device', others, 'shared'),
      ...held.map((each) => {
        const origin = new Map(keys).get(`label:${each}`);
        return claim({ key: each, stance: 'keep', ownership: 'shared', ...(origin && { origin }) });
      }),
    ]);
  }

  function planned(given: Scene) {
    const node = nodeOf(given);
    const intent = intentFor(given);
    const ask: AskSkipped = (ref) => (given.out.includes(ref.key) ? given.cause : undefined);
    const made = planNode(node, intent, ask);
    return { node, intent, ask, made, after: made ? apply(node, made) : node };
  }

  /** Claimed, and not as one that may go. */
  function isKept(intent: ReturnType<typeof mergeClaims>, id: string): boolean {
    const stance = intent.get(id)?.stance;
    return stance === 'present' || stance === 'keep';
  }

  test('no owned label goes for it, unless another writer owns that label too', () => {
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

  test('a wanted label that was listed stays so while it is there', () => {
    fc.assert(
      fc.property(scene, (given) => {
        const { node, intent, after } = planned(given);
        const isRefused = given.out.includes(LIST) || given.out.includes(MANAGED);
        for (const [id, origin] of keysOn(node)) {
          const each = id.slice('label:'.length);
          const isForeign = given.cause === 'foreign' && given.out.includes(each);
          // No pool and no rule is given the keys of devices.
          if (intent.get(id)?.origin === 'device' && origin !== 'device') continue;
          if (!isKept(intent, id) || after.labels[each] === undefined || isForeign || isRefused) continue;
          expect([...keysOn(after).keys()]).toContain(id);
        }
      }),
      { numRuns: 2000 },
    );
  });

  test('a label that is not set, and was not listed, is not listed', () => {
    fc.assert(
      fc.property(scene, (given) => {
        const { node, intent, after } = planned(given);
        const added = [...keysOn(after).keys()].filter((id) => !keysOn(node).has(id));
        for (const id of added) {
          const each = id.slice('label:'.length);
          expect(after.owned.labels).toContain(each);
          expect([intent.get(id)?.value, node.labels[each]]).toContain(after.labels[each]);
        }
      }),
      { numRuns: 2000 },
    );
  });

  test('a plan that was carried out leaves nothing to plan', () => {
    fc.assert(
      fc.property(scene, (given) => {
        const { intent, ask, made, after } = planned(given);
        // Keys of another writer come and go with that writer.
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
