import { isMet, type Measure } from './result.ts';

const VERDICTS = { true: 'ok', false: 'OVER', undefined: '' } as const;

/** The measures of one bench for people, one a line. */
export function tableOf(title: string, measures: readonly Measure[]): string {
  const rows = measures.map((measure) => [
    measure.what,
    `${roundOf(measure.value)} ${measure.unit}`.trim(),
    budgetOf(measure),
    VERDICTS[`${isMet(measure)}`],
  ]);
  const widths = [0, 1, 2].map((column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const lines = rows.map((row) =>
    row
      .map((cell, column) => (column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0)))
      .join('  '),
  );
  return [title, ...lines.map((line) => `  ${line}`.trimEnd())].join('\n');
}

function budgetOf({ atMost, exactly, unit }: Measure): string {
  if (exactly !== undefined) return `= ${exactly} ${unit}`.trim();
  return atMost === undefined ? '' : `≤ ${roundOf(atMost)} ${unit}`.trim();
}

/** Three digits that count; more would be noise. */
export function roundOf(value: number): number {
  return Number(value.toPrecision(3));
}
