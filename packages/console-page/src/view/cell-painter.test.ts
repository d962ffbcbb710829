import { expect, test, vi } from 'vitest';
import { standInForCanvas } from './canvas.test-fixtures.ts';
import { type CellLayout, layOut } from './cell-layout.ts';
import { type Cell, CellPainter } from './cell-painter.ts';
import { DISPUTED_CORNER, GLYPHS } from './glyphs.ts';

const CELL: Cell = { name: 'node-1', state: 'ready', isDisputed: false, isDimmed: false };
/** Cells of 20, with a gap of 3, two in a line. */
const LARGE = layOut(4, 43, 100);
const NAMED = layOut(4, 200, 4);

/** What is done to the canvas for one cell, on a screen that has four pixels for one of CSS. */
function painted(cell: Partial<Cell>, layout: CellLayout = LARGE, { index = 3, isFocused = false } = {}): string[] {
  const { canvas, done } = standInForCanvas();
  const painter = new CellPainter(canvas);
  painter.reset(100, 50);
  done();
  painter.paint(index, { ...CELL, ...cell }, layout, isFocused);
  return done();
}

/** The same, from where the glyph begins. */
const glyph = (cell: Partial<Cell>) => painted(cell).slice(5);

test('a map is as large as the screen has pixels for it', () => {
  const { canvas } = standInForCanvas();
  new CellPainter(canvas).reset(100.4, 50.2);
  expect([canvas.width, canvas.height]).toEqual([201, 100]);
});

test('a cell is cleared with its border, and drawn where it is', () => {
  expect(painted({})).toEqual([
    'setTransform 2 0 0 2 46 46',
    'globalAlpha = 1',
    'clearRect -1 -1 22 22',
    'globalAlpha = 1',
    `setTransform ${(20 / 12) * 2} 0 0 ${(20 / 12) * 2} 46 46`,
    'lineWidth = 1.4',
    'fillStyle = --ready',
    'fillRect 0 0 12 12',
  ]);
});

test('the resolution is the one of the last reset', () => {
  const { canvas, done } = standInForCanvas();
  const painter = new CellPainter(canvas);
  painter.paint(3, CELL, LARGE, false);
  expect(done()[0]).toBe('setTransform 1 0 0 1 23 23');
  vi.stubGlobal('devicePixelRatio', 3);
  painter.reset(100, 50);
  painter.paint(3, CELL, LARGE, false);
  expect(done()[0]).toBe('setTransform 3 0 0 3 69 69');
});

test('the colors come from the last reset', () => {
  const { canvas, done } = standInForCanvas();
  const painter = new CellPainter(canvas);
  painter.paint(0, CELL, LARGE, false);
  expect(done()).toContain('fillStyle = --ready');
  vi.stubGlobal('getComputedStyle', () => ({ font: '', getPropertyValue: (name: string) => `dark ${name}` }));
  painter.reset(100, 50);
  painter.paint(0, CELL, LARGE, false);
  expect(done()).toContain('fillStyle = dark --ready');
});

test('a cell that is dimmed is drawn faintly, after it was cleared in full', () => {
  expect(painted({ isDimmed: true }).slice(1, 4)).toEqual([
    'globalAlpha = 1',
    'clearRect -1 -1 22 22',
    'globalAlpha = 0.18',
  ]);
});

test('the cell with the focus has a frame, in full color', () => {
  const focused = painted({ isDimmed: true }, LARGE, { isFocused: true });
  expect(focused.slice(-5)).toEqual([
    'setTransform 2 0 0 2 46 46',
    'globalAlpha = 1',
    'strokeStyle = --focus',
    'lineWidth = 2',
    'strokeRect 0 0 20 20',
  ]);
});

test('a state that is filled has its mark in another color', () => {
  expect(glyph({ state: 'not-ready' })).toEqual([
    'lineWidth = 1.4',
    'fillStyle = --not-ready',
    'fillRect 0 0 12 12',
    'strokeStyle = --on-fill',
    `stroke ${GLYPHS['not-ready'].mark}`,
  ]);
});

test('a state that is an outline has its mark in the same color', () => {
  expect(glyph({ state: 'silent' })).toEqual([
    'lineWidth = 1.4',
    'strokeStyle = --silent',
    `strokeRect 0.7 0.7 ${12 - 1.4} ${12 - 1.4}`,
    'strokeStyle = --silent',
    `stroke ${GLYPHS.silent.mark}`,
  ]);
  expect(glyph({ state: 'none' })).toHaveLength(3);
});

test('every state looks like no other', () => {
  const looks = Object.values(GLYPHS).map(({ isFilled, mark }) => `${isFilled} ${mark}`);
  expect(new Set(looks).size).toBe(looks.length);
});

test('which states are filled', () => {
  const filled = Object.entries(GLYPHS).filter(([, { isFilled }]) => isFilled);
  expect(filled.map(([state]) => state)).toEqual(['ready', 'not-ready', 'held-back']);
});

test('a node whose keys others change or own has a corner', () => {
  expect(glyph({ isDisputed: true }).slice(-2)).toEqual(['fillStyle = --disputed', `fill ${DISPUTED_CORNER}`]);
});

test('a cell with room for it has its name beside a small glyph', () => {
  expect(painted({}, NAMED, { index: 1 })).toEqual([
    'setTransform 2 0 0 2 0 80',
    'globalAlpha = 1',
    'clearRect -1 -1 178 36',
    'globalAlpha = 1',
    'fillStyle = --surface',
    'fillRect 0 0 176 34',
    'strokeStyle = --line',
    'lineWidth = 1',
    'strokeRect 0.5 0.5 175 33',
    'font = some font',
    'direction = ltr',
    'textBaseline = middle',
    'fillStyle = --text',
    'fillText node-1 28 18',
    `setTransform ${(14 / 12) * 2} 0 0 ${(14 / 12) * 2} 20 100`,
    'lineWidth = 1.4',
    'fillStyle = --ready',
    'fillRect 0 0 12 12',
  ]);
});

test.each([
  ['exactly-13-ch', 'exactly-13-ch'],
  ['now-14-letters', 'now-14-lette…'],
  ['a-name-that-is-much-longer-than-its-cell', 'a-name-that-…'],
  ['😀'.repeat(20), `${'😀'.repeat(12)}…`],
  ['a\u202eb', 'a⟨U+202E⟩b'],
])('of the name %j there is as much as fits: %s', (name, text) => {
  expect(painted({ name }, NAMED)).toContain(`fillText ${text} 28 18`);
});

test('a name of which nothing fits is an ellipsis', () => {
  expect(painted({ name: 'ab' }, { ...NAMED, width: 48 })).toContain('fillText … 28 18');
});

test('a browser without a canvas is an error', () => {
  const canvas = { getContext: () => null } as unknown as HTMLCanvasElement;
  standInForCanvas();
  expect(() => new CellPainter(canvas)).toThrow('This browser has no canvas');
});
