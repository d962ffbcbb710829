import { isMet, type Measure } from './result.ts';

const VERDICTS = { true: 'ok', false: 'OVER', undefined: '' } as const;

/** Name of a measure in a result. */
export function keyOf({ what, unit }: Pick<Measure, 'what' | 'unit'>): string {
  return unit === '' ? what : `${what}, ${unit}`;
}

/** The measures of one bench for people, one a line, and what an earlier run measured, by its keys. */
export function tableOf(
  title: string,
  measures: readonly Measure[],
  before: Readonly<Record<string, number>> = {},
): string {
  const rows = measures.map((measure) => [
    measure.what,
    `${roundOf(measure.value)} ${measure.unit}`.trim(),
    budgetOf(measure),
    VERDICTS[`${isMet(measure)}`],
    changeOf(measure, before[keyOf(measure)]),
  ]);
  const widths = [0, 1, 2, 3].map((column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const lines = rows.map((row) =>
    row
      .map((cell, column) => (column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0)))
      .join('  '),
  );
  return [title, ...lines.map((line) => `  ${line}`.trimEnd())].join('\n');
}

function changeOf({ value }: Measure, before: number | undefined): string {
  if (before === undefined) return '';
  return before === 0 ? 'before 0' : `before ${before} (now ${roundOf(value / before)} ×)`;
}

function budgetOf({ atMost, exactly, unit }: Measure): string {
  if (exactly !== undefined) return `= ${exactly} ${unit}`.trim();
  return atMost === undefined ? '' : `≤ ${roundOf(atMost)} ${unit}`.trim();
}

/** Three digits that count; more would be noise. */
export function roundOf(value: number): number {
  return Number(value.toPrecision(3));
}
