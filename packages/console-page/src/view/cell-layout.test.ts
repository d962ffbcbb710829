import fc from 'fast-check';
import { expect, test } from 'vitest';
import { cellAt, layOut, moveBy, positionOf } from './cell-layout.ts';

const maps = fc.record({ count: fc.integer({ min: 1, max: 6000 }), width: fc.integer({ min: 1, max: 3000 }) });

test('the middle of every cell is in that cell, and no cell is beside the map', () => {
  fc.assert(
    fc.property(maps, fc.nat(), ({ count, width }, pick) => {
      const layout = layOut(count, width, count);
      const index = pick % count;
      const { x, y } = positionOf(index, layout);
      expect(cellAt(x + layout.width / 2, y + layout.height / 2, count, layout)).toBe(index);
      expect(y + layout.height).toBeLessThanOrEqual(layout.mapHeight);
      if (layout.columns > 1) expect(x + layout.width).toBeLessThanOrEqual(width);
    }),
  );
});

test('beside the cells there is none', () => {
  const layout = layOut(3, 1000, 3);
  expect(cellAt(-1, 5, 3, layout)).toBeUndefined();
  expect(cellAt(999, 5, 3, layout)).toBeUndefined();
  expect(cellAt(5, layout.mapHeight + 50, 3, layout)).toBeUndefined();
});

test('cells are small where there are many, and have names where there are few', () => {
  expect(layOut(10, 1000, 10).isNamed).toBe(true);
  expect(layOut(10, 1000, 5000).isNamed).toBe(false);
  expect(layOut(5000, 1200, 5000).mapHeight).toBeLessThan(1000);
});

test('keys lead to a cell that is there', () => {
  const keys = ['ArrowLeft', 'ArrowRight', 'ArrowUp', 'ArrowDown', 'PageUp', 'PageDown', 'Home', 'End'];
  fc.assert(
    fc.property(maps, fc.constantFrom(...keys), fc.nat(), ({ count, width }, key, pick) => {
      const to = moveBy(key, pick % count, count, layOut(count, width, count));
      expect(to).toBeGreaterThanOrEqual(0);
      expect(to).toBeLessThan(count);
    }),
  );
  const layout = layOut(100, 100, 1000);
  expect(layout.columns).toBe(7);
  expect([moveBy('ArrowDown', 0, 100, layout), moveBy('ArrowUp', 0, 100, layout), moveBy('x', 0, 100, layout)]).toEqual(
    [7, 0, undefined],
  );
});
