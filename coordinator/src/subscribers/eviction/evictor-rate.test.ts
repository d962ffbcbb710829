import { describe, expect, test } from 'vitest';
import { blocked, evictorRig } from './evictor.test-fixtures.ts';

describe('the rate limit', () => {
  test('holds over all nodes, which take turns', async () => {
    const rig = evictorRig();
    const names = (node: string) => Array.from({ length: 10 }, (_, index) => `${node}${index}`);
    rig.lose('n', ...names('n'));
    rig.lose('m', ...names('m'));
    await rig.clock.advance(0);
    expect(rig.timed().filter(({ what }) => what.startsWith('evict'))).toHaveLength(10);
    await rig.clock.advance(10_000);
    expect(rig.pods.size).toBe(0);
    const later = rig.timed().filter(({ what }) => what.startsWith('evict'));
    expect(later.map(({ atMs }) => atMs)).toEqual(Array.from({ length: 10 }, (_, index) => 1000 * (index + 1)));
  });

  test('is not spent on evictions that are refused', async () => {
    const rig = evictorRig();
    rig.answer = (name) => (name.startsWith('blocked') ? blocked() : undefined);
    rig.lose('m', ...Array.from({ length: 20 }, (_, index) => `blocked${index}`));
    rig.lose('n', ...Array.from({ length: 10 }, (_, index) => `free${index}`));
    await rig.clock.advance(2000);
    expect(rig.pods.size).toBe(20);
  });

  test('leaves the API server in peace between two refusals', async () => {
    const rig = evictorRig();
    rig.answer = () => blocked();
    rig.lose('n', 'a', 'b', 'c');
    await rig.clock.advance(1000);
    expect(rig.timed().map(({ atMs }) => atMs)).toEqual([0, 0, 100, 200]);
  });

  test('is what the option says', async () => {
    const rig = evictorRig({ perSecond: 10 });
    rig.lose('n', ...Array.from({ length: 20 }, (_, index) => `pod${index}`));
    await rig.clock.advance(999);
    expect(rig.pods.size).toBe(1);
    await rig.clock.advance(1);
    expect(rig.pods.size).toBe(0);
  });
});
