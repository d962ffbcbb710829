import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useRef } from 'preact/hooks';
import { visible } from '../model/format.ts';
import { isNarrow } from './appearance.ts';

export type Column<Row> = {
  title: string;
  /** As a column of a CSS grid has it. */
  width: string;
  /** Its cells may need more than one line in a narrow window. */
  isSentence?: boolean;
  isNumber?: boolean;
  cell: (row: Row) => ComponentChildren;
};

const ROW_PX = 34;
/** Of a line in a narrow window, where a row has one for each cell; a sentence may have more. As in style.css. */
const LINE_PX = 24;
const SENTENCE_LINES = 5;
/** Rows beyond what is seen, so that scrolling does not show their absence. */
const SPARE = 6;

/** A table of any length: only the rows that are seen are elements, all of one height: a line, or a card in a narrow window. */
export function VirtualTable<Row>(props: {
  caption: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  keyOf: (row: Row) => string;
  /** How many rows are seen at once, at most. */
  linesMax?: number;
}) {
  const { caption, columns, rows, keyOf, linesMax = 14 } = props;
  const label = visible(caption);
  const scroller = useRef<HTMLElement>(null);
  const first = useSignal(0);
  const from = Math.max(0, Math.min(first.value, rows.length - linesMax) - SPARE);
  const shown = rows.slice(from, from + linesMax + 2 * SPARE);
  const after = rows.length - from - shown.length;
  const rowPx = isNarrow.value ? cardPx(columns) : ROW_PX;
  const isLong = rows.length * rowPx > linesMax * ROW_PX;
  return (
    <section
      class="scroller"
      ref={scroller}
      aria-label={label}
      // Without a pointer it is scrolled by the arrow keys, once it has the focus.
      tabIndex={isLong ? 0 : undefined}
      style={{ maxHeight: `${(linesMax + 1) * ROW_PX + 4}px` }}
      onScroll={() => {
        first.value = Math.floor((scroller.current?.scrollTop ?? 0) / rowPx);
      }}
    >
      <table aria-label={label} aria-rowcount={rows.length + 1}>
        <colgroup>
          {columns.map(({ title, width }) => (
            <col key={title} style={{ width }} />
          ))}
        </colgroup>
        <thead>
          <tr aria-rowindex={1}>
            {columns.map(({ title, isNumber }) => (
              <th key={title} scope="col" class={isNumber ? 'number' : undefined}>
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {from > 0 && <Spacer px={from * rowPx} />}
          {shown.map((row, index) => (
            <tr key={keyOf(row)} aria-rowindex={from + index + 2} style={{ height: `${rowPx}px` }}>
              {columns.map(({ title, isNumber, isSentence, cell }) => (
                <td key={title} data-title={title} class={isNumber ? 'number' : isSentence ? 'sentence' : undefined}>
                  {cell(row)}
                </td>
              ))}
            </tr>
          ))}
          {after > 0 && <Spacer px={after * rowPx} />}
        </tbody>
      </table>
    </section>
  );
}

function cardPx(columns: readonly Column<never>[]): number {
  const lines = columns.reduce((sum, { isSentence }) => sum + (isSentence ? SENTENCE_LINES : 1), 0);
  return lines * LINE_PX + 8;
}

function Spacer({ px }: { px: number }) {
  return <tr style={{ height: `${px}px` }} />;
}
