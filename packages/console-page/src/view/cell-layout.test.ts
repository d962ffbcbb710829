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
      const last = positionOf(Math.min(count, layout.columns) - 1, layout);
      if (layout.columns > 1) expect(last.x + layout.width).toBeLessThanOrEqual(width);
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

test('cells have names up to sixty on the page, and are large up to eight hundred', () => {
  const cell = (onPage: number) => {
    const { width, height, gap, isNamed } = layOut(1, 1000, onPage);
    return { width, height, gap, isNamed };
  };
  expect(cell(60)).toEqual({ width: 176, height: 34, gap: 6, isNamed: true });
  expect(cell(61)).toEqual({ width: 20, height: 20, gap: 3, isNamed: false });
  expect(cell(800)).toEqual(cell(61));
  expect(cell(801)).toEqual({ width: 12, height: 12, gap: 2, isNamed: false });
});

test('a map has as many columns as fit, with gaps only between them', () => {
  const widthOf = (columns: number) => columns * 20 + (columns - 1) * 3;
  expect(layOut(100, widthOf(5), 100)).toMatchObject({ columns: 5, rows: 20, mapHeight: widthOf(20) });
  expect(layOut(100, widthOf(5) - 1, 100)).toMatchObject({ columns: 4, rows: 25 });
  expect(layOut(3, 1, 100)).toMatchObject({ columns: 1, rows: 3 });
  expect(layOut(0, 1000, 100)).toMatchObject({ rows: 0, mapHeight: 0 });
});

test('cells follow each other in lines', () => {
  const layout = layOut(10, 43, 100);
  expect([0, 1, 2, 3].map((index) => positionOf(index, layout))).toEqual([
    { x: 0, y: 0 },
    { x: 23, y: 0 },
    { x: 0, y: 23 },
    { x: 23, y: 23 },
  ]);
});

test('a cell is at each of its corners, and its gap is its own', () => {
  const layout = layOut(3, 43, 100);
  const at = (x: number, y: number) => cellAt(x, y, 3, layout);
  expect([at(0, 0), at(22, 22), at(23, 0), at(0, 23)]).toEqual([0, 0, 1, 2]);
  expect([at(46, 0), at(23, 23), at(-1, 0), at(0, -1), at(0, 46)]).toEqual(Array(5).fill(undefined));
});

test.each([
  ['ArrowLeft', 14, 13],
  ['ArrowLeft', 0, 0],
  ['ArrowRight', 14, 15],
  ['ArrowRight', 99, 99],
  ['ArrowUp', 14, 12],
  ['ArrowUp', 2, 0],
  ['ArrowUp', 1, 1],
  ['ArrowDown', 14, 16],
  ['ArrowDown', 97, 99],
  ['ArrowDown', 98, 98],
  ['PageUp', 34, 14],
  ['PageUp', 14, 0],
  ['PageDown', 34, 54],
  ['PageDown', 94, 99],
  ['Home', 34, 0],
  ['End', 34, 99],
])('%s leads from cell %d to %d', (key, from, to) => {
  const layout = layOut(100, 43, 100);
  expect(layout.columns).toBe(2);
  expect(moveBy(key, from, 100, layout)).toBe(to);
});
