import { padEnd, padStart, shortened, widthOf } from './width.ts';

export type Column<Row> = {
  title: string;
  cell: (row: Row) => string;
  /** Numbers stand at the right. */
  isNumber?: boolean;
  /** Gives way where the table is too wide. */
  gives?: boolean;
};

const GAP = '   ';
/** Narrower than the first, a column says little, and narrower than the last nothing any more. */
const LEAST = [12, 6];

/**
 * A table as kubectl prints them. `columns`: how wide it may be; columns that give way are shortened for it, in the
 * middle of their text. A table that is not for a terminal is as wide as it is.
 */
export function table<Row>(rows: readonly Row[], specs: readonly Column<Row>[], columns: number | undefined): string[] {
  const cells = rows.map((row) => specs.map(({ cell }) => cell(row)));
  const titles = specs.map(({ title }) => title);
  const natural = specs.map((_spec, index) =>
    Math.max(...[titles, ...cells].map((line) => widthOf(line[index] ?? ''))),
  );
  const widths = columns === undefined ? natural : fitted(natural, specs, columns);
  return [titles, ...cells].map((line) => {
    const padded = line.map((text, index) => {
      const width = widths[index] ?? 0;
      const short = shortened(text, width);
      return specs[index]?.isNumber ? padStart(short, width) : padEnd(short, width);
    });
    return padded.join(GAP).trimEnd();
  });
}

/** Takes from the widest of those that give way until it fits, or nothing is left to take. */
function fitted<Row>(natural: readonly number[], specs: readonly Column<Row>[], columns: number): number[] {
  const widths = [...natural];
  let excess = widths.reduce((sum, width) => sum + width, GAP.length * (widths.length - 1)) - columns;
  for (const least of LEAST) {
    while (excess > 0) {
      const giving = widths.map((width, index) => (specs[index]?.gives && width > least ? width : 0));
      const widest = Math.max(...giving);
      if (widest === 0) break;
      widths[giving.indexOf(widest)] = widest - 1;
      excess -= 1;
    }
  }
  return widths;
}
