import type { State } from '../model/node-state.ts';

/** Side of the square in which glyphs are drawn. */
export const GLYPH_SIDE = 12;

/**
 * How a state looks besides its color, so that users need not tell colors apart: a square that is filled or only an
 * outline, and a mark on it as the path of an SVG. The color is the CSS variable `--NAME` of the state.
 */
export const GLYPHS: Readonly<Record<State, { isFilled: boolean; mark: string }>> = {
  ready: { isFilled: true, mark: '' },
  'not-ready': { isFilled: true, mark: 'M3.5 3.5 8.5 8.5M8.5 3.5 3.5 8.5' },
  silent: { isFilled: false, mark: 'M3.5 6H8.5' },
  'held-back': { isFilled: true, mark: 'M4.4 3.5V8.5M7.6 3.5V8.5' },
  guarded: { isFilled: false, mark: 'M6 2.8 9 4V6.4Q8.7 8.4 6 9.4 3.3 8.4 3 6.4V4Z' },
  unknown: { isFilled: false, mark: 'M4.5 4.6Q4.5 3.2 6 3.2 7.5 3.2 7.5 4.5 7.5 5.4 6 6.1V7.1M6 8.6V9.1' },
  none: { isFilled: false, mark: '' },
};

/** The corner of a node whose keys others change or own. */
export const DISPUTED_CORNER = 'M7 0H12V5Z';
