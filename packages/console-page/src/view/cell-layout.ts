/** How the cells of a map are laid out, in CSS pixels. */
export type CellLayout = {
  columns: number;
  rows: number;
  width: number;
  height: number;
  gap: number;
  /** Whether there is room for the name of the node. */
  isNamed: boolean;
  /** The height of the whole map. */
  mapHeight: number;
};

/** Up to as many cells on the page they have their names in them, and up to as many they are large. */
const NAMED_MAX = 60;
const LARGE_MAX = 800;

const NAMED = { width: 176, height: 34, gap: 6, isNamed: true };
const LARGE = { width: 20, height: 20, gap: 3, isNamed: false };
const SMALL = { width: 12, height: 12, gap: 2, isNamed: false };

/** `onPage`: how many cells there are on the page, by which all maps on it have the same. */
export function layOut(count: number, mapWidth: number, onPage: number): CellLayout {
  const cell = onPage <= NAMED_MAX ? NAMED : onPage <= LARGE_MAX ? LARGE : SMALL;
  const columns = Math.max(1, Math.floor((mapWidth + cell.gap) / (cell.width + cell.gap)));
  const rows = Math.ceil(count / columns);
  return { ...cell, columns, rows, mapHeight: Math.max(0, rows * (cell.height + cell.gap) - cell.gap) };
}

export function positionOf(index: number, { columns, width, height, gap }: CellLayout): { x: number; y: number } {
  return { x: (index % columns) * (width + gap), y: Math.floor(index / columns) * (height + gap) };
}

/** The cell at a point; `undefined` beside all of them. The gap belongs to the cell before it. */
export function cellAt(x: number, y: number, count: number, layout: CellLayout): number | undefined {
  const column = Math.floor(x / (layout.width + layout.gap));
  const index = Math.floor(y / (layout.height + layout.gap)) * layout.columns + column;
  return x >= 0 && y >= 0 && column < layout.columns && index < count ? index : undefined;
}

/** Returns the cell that a key of the keyboard leads to; `undefined` for keys that lead nowhere. */
export function moveBy(key: string, from: number, count: number, { columns }: CellLayout): number | undefined {
  const to = {
    ArrowLeft: from - 1,
    ArrowRight: from + 1,
    ArrowUp: from - columns,
    ArrowDown: from + columns,
    PageUp: from - 10 * columns,
    PageDown: from + 10 * columns,
    Home: 0,
    End: count - 1,
  }[key];
  if (to === undefined) return undefined;
  const isVertical = key === 'ArrowUp' || key === 'ArrowDown';
  if (isVertical && (to < 0 || to >= count)) return from;
  return Math.min(Math.max(to, 0), count - 1);
}
