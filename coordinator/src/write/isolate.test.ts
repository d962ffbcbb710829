import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isolate, PROBES_MAX, type Probe } from './refused-keys.ts';

const accepted: Probe = { kind: 'applied', node: { metadata: { name: 'n', uid: 'u', resourceVersion: '1' } } };
const refused: Probe = { kind: 'denied', message: 'no' };

/** Refuses what contains one of the offenders, and counts. */
function refusing(offenders: ReadonlySet<number>) {
  const probes: (readonly number[])[] = [];
  return {
    probes,
    probe: async (part: readonly number[]) => {
      probes.push(part);
      return part.some((each) => offenders.has(each)) ? refused : accepted;
    },
  };
}

const suspectsWithOffenders = fc
  .uniqueArray(fc.nat({ max: 500 }), { minLength: 1, maxLength: 60 })
  .chain((suspects) => fc.tuple(fc.constant(suspects), fc.subarray(suspects)));

describe('isolating', () => {
  test('finds exactly the offenders, unless they are too many for one search', async () => {
    await fc.assert(
      fc.asyncProperty(suspectsWithOffenders, async ([suspects, offenders]) => {
        const { probe, probes } = refusing(new Set(offenders));
        const found = await isolate(suspects, probe);
        const names = found.offending.map(({ suspect }) => suspect);
        expect(probes.length).toBeLessThanOrEqual(PROBES_MAX);
        expect(names.every((each) => offenders.includes(each))).toBe(true);
        expect(found.accepted.some((each) => offenders.includes(each))).toBe(false);
        if (found.ended) {
          expect(found.ended.kind).toBe('probes-spent');
          expect(names.length).toBeGreaterThan(0);
          return;
        }
        expect(names.toSorted()).toEqual(offenders.toSorted());
        expect([...names, ...found.accepted].toSorted()).toEqual(suspects.toSorted());
      }),
    );
  });

  test('finds one among a thousand with about twice the logarithm of probes', async () => {
    const suspects = Array.from({ length: 1000 }, (_, index) => index);
    const { probe, probes } = refusing(new Set([617]));
    expect((await isolate(suspects, probe)).offending).toEqual([{ suspect: 617, message: 'no' }]);
    expect(probes.length).toBeLessThanOrEqual(2 * Math.ceil(Math.log2(1000)) + 1);
  });

  test('ends after 64 probes where nearly all offend', async () => {
    const suspects = Array.from({ length: 1000 }, (_, index) => index);
    const { probe, probes } = refusing(new Set(suspects));
    const found = await isolate(suspects, probe);
    expect(found.ended).toEqual({ kind: 'probes-spent' });
    expect(probes).toHaveLength(PROBES_MAX);
    expect(found.offending.length).toBeGreaterThan(20);
  });

  test('of a single suspect tries it once', async () => {
    const { probes, probe } = refusing(new Set([7]));
    expect(await isolate([7], probe)).toEqual({ offending: [{ suspect: 7, message: 'no' }], accepted: [] });
    expect(probes).toEqual([[], [7]]);
  });

  test('blames no key when the request is refused without any of them', async () => {
    const found = await isolate([1, 2, 3], async () => refused);
    expect(found).toEqual({ offending: [], accepted: [], ended: { kind: 'whole-refused', message: 'no' } });
  });

  test('leaves what goes through all together, where each goes through alone', async () => {
    const tooMany = async (part: readonly number[]) => (part.length > 2 ? refused : accepted);
    const found = await isolate([1, 2, 3, 4], tooMany);
    expect(found.accepted).toEqual([1, 2]);
    expect(found.offending.map(({ suspect }) => suspect)).toEqual([3, 4]);
  });

  test('ends at once with what stops a probe, and keeps what was found', async () => {
    let probes = 0;
    const found = await isolate([1, 2], async (part) => {
      probes += 1;
      if (probes === 3) return { kind: 'stale' };
      return part.includes(1) ? refused : accepted;
    });
    expect(found.offending.map(({ suspect }) => suspect)).toEqual([1]);
    expect(found.ended).toEqual({ kind: 'stop', stop: { kind: 'stale' } });
    expect(probes).toBe(3);
  });
});
