import { visible } from '../model/format.ts';
import { STATES, type State } from '../model/node-state.ts';
import { type CellLayout, positionOf } from './cell-layout.ts';
import { DISPUTED_CORNER, GLYPH_SIDE, GLYPHS } from './glyphs.ts';

export type Cell = { name: string; state: State; isDisputed: boolean; isDimmed: boolean };

type Palette = Readonly<Record<State | 'surface' | 'text' | 'on-fill' | 'disputed' | 'focus' | 'line', string>>;

const DIMMED = 0.18;
const NAME_LEFT = 28;

/** Draws the cells of a map on a canvas, each for itself, so that a change costs as much as what changed. */
export class CellPainter {
  readonly #canvas: HTMLCanvasElement;
  readonly #context: CanvasRenderingContext2D;
  readonly #marks = new Map(STATES.map((state) => [state, new Path2D(GLYPHS[state].mark)]));
  readonly #corner = new Path2D(DISPUTED_CORNER);
  #palette: Palette;
  #font = '';
  #scale = 1;

  constructor(canvas: HTMLCanvasElement) {
    const context = canvas.getContext('2d');
    if (!context) throw new Error('This browser has no canvas');
    this.#canvas = canvas;
    this.#context = context;
    this.#palette = readPalette(canvas);
  }

  /** Makes room for a map of this size, which is blank then. Takes up colors and resolution as they are now. */
  reset(width: number, height: number): void {
    this.#scale = devicePixelRatio;
    this.#canvas.width = Math.round(width * this.#scale);
    this.#canvas.height = Math.round(height * this.#scale);
    this.#palette = readPalette(this.#canvas);
    this.#font = getComputedStyle(this.#canvas).font;
  }

  paint(index: number, cell: Cell, layout: CellLayout, isFocused: boolean): void {
    const context = this.#context;
    const { x, y } = positionOf(index, layout);
    const { width, height } = layout;
    const palette = this.#palette;
    context.setTransform(this.#scale, 0, 0, this.#scale, x * this.#scale, y * this.#scale);
    context.globalAlpha = 1;
    context.clearRect(-1, -1, width + 2, height + 2);
    context.globalAlpha = cell.isDimmed ? DIMMED : 1;
    if (layout.isNamed) this.#paintName(cell, layout);
    const side = layout.isNamed ? 14 : Math.min(width, height);
    const scale = (side / GLYPH_SIDE) * this.#scale;
    const inset = layout.isNamed ? (height - side) / 2 : 0;
    const [left, top] = [(x + inset) * this.#scale, (y + inset) * this.#scale];
    context.setTransform(scale, 0, 0, scale, left, top);
    this.#paintGlyph(cell);
    if (!isFocused) return;
    context.setTransform(this.#scale, 0, 0, this.#scale, x * this.#scale, y * this.#scale);
    context.globalAlpha = 1;
    context.strokeStyle = palette.focus;
    context.lineWidth = 2;
    context.strokeRect(0, 0, width, height);
  }

  #paintGlyph({ state, isDisputed }: Cell): void {
    const context = this.#context;
    const { isFilled, mark } = GLYPHS[state];
    const color = this.#palette[state];
    context.lineWidth = 1.4;
    if (isFilled) {
      context.fillStyle = color;
      context.fillRect(0, 0, GLYPH_SIDE, GLYPH_SIDE);
    } else {
      context.strokeStyle = color;
      context.strokeRect(0.7, 0.7, GLYPH_SIDE - 1.4, GLYPH_SIDE - 1.4);
    }
    const path = this.#marks.get(state);
    if (mark !== '' && path) {
      context.strokeStyle = isFilled ? this.#palette['on-fill'] : color;
      context.stroke(path);
    }
    if (!isDisputed) return;
    context.fillStyle = this.#palette.disputed;
    context.fill(this.#corner);
  }

  #paintName({ name }: Cell, { width, height }: CellLayout): void {
    const context = this.#context;
    context.fillStyle = this.#palette.surface;
    context.fillRect(0, 0, width, height);
    context.strokeStyle = this.#palette.line;
    context.lineWidth = 1;
    context.strokeRect(0.5, 0.5, width - 1, height - 1);
    context.font = this.#font;
    context.direction = 'ltr';
    context.textBaseline = 'middle';
    context.fillStyle = this.#palette.text;
    context.fillText(this.#fitted(visible(name), width - NAME_LEFT - 10), NAME_LEFT, height / 2 + 1);
  }

  /** As much of a text as there is room for. */
  #fitted(text: string, room: number): string {
    if (this.#context.measureText(text).width <= room) return text;
    const characters = [...text];
    let [fits, tooLong] = [0, characters.length];
    while (tooLong - fits > 1) {
      const middle = Math.floor((fits + tooLong) / 2);
      if (this.#context.measureText(`${characters.slice(0, middle).join('')}…`).width <= room) fits = middle;
      else tooLong = middle;
    }
    return `${characters.slice(0, fits).join('')}…`;
  }
}

function readPalette(element: Element): Palette {
  const style = getComputedStyle(element);
  const names = [...STATES, 'surface', 'text', 'on-fill', 'disputed', 'focus', 'line'] as const;
  return Object.fromEntries(names.map((name) => [name, style.getPropertyValue(`--${name}`)])) as Palette;
}
