/** One node in the table. */
export type Row = {
  node: string;
  /** Whether the label of each service is on the node now. */
  labels: Readonly<Record<string, boolean>>;
  note: string;
};

/** Where the demo says what happens. */
export type Screen = {
  log(text: string): void;
  table(rows: readonly Row[], footer: string): void;
};

/** The part of a terminal that is written to. */
export type Terminal = {
  write(text: string): unknown;
  readonly isTTY?: boolean;
  readonly columns?: number;
  /** Whether it shows colors, which NO_COLOR denies; defaults to true. */
  hasColors?(): boolean;
};

const ESCAPE = '\u001b[';
const STYLES = { green: '32', red: '31', dim: '2', bold: '1' } as const;

type Styled = (style: keyof typeof STYLES, text: string) => string;

const colored: Styled = (style, text) => `${ESCAPE}${STYLES[style]}m${text}${ESCAPE}0m`;
const plain: Styled = (_style, text) => text;

function timeOfDay(): string {
  return new Date().toTimeString().slice(0, 8);
}

/** A log that scrolls, above a table that stays at the bottom and is drawn anew with every change. */
export function terminalScreen(terminal: Terminal): Screen {
  const styled = terminal.hasColors?.() === false ? plain : colored;
  let drawn = 0;
  let latest: string[] = [];
  function draw(above: string): void {
    const erase = drawn > 0 ? `${ESCAPE}${drawn}A\r${ESCAPE}J` : '';
    terminal.write(`${erase}${above}${latest.map((line) => `${line}\n`).join('')}`);
    drawn = latest.length;
  }
  return {
    log: (text) => draw(`${styled('dim', timeOfDay())}  ${text}\n`),
    table(rows, footer) {
      const lines = tableLines(rows, terminal.columns ?? 100, styled);
      latest = ['', ...lines, styled('dim', clip(footer, terminal.columns ?? 100))];
      draw('');
    },
  };
}

function tableLines(rows: readonly Row[], columns: number, styled: Styled): string[] {
  const services = Object.keys(rows[0]?.labels ?? {});
  const nodeWidth = Math.max(6, ...rows.map(({ node }) => node.length)) + 3;
  const header = `  ${'NODE'.padEnd(nodeWidth)}${services.map((name) => name.toUpperCase().padEnd(18)).join('')}`;
  const body = rows.map(({ node, labels, note }) => {
    const cells = services.map((name) =>
      labels[name] ? styled('green', 'ready'.padEnd(18)) : styled('red', 'NOT READY'.padEnd(18)),
    );
    const room = columns - nodeWidth - 18 * services.length - 4;
    return `  ${node.padEnd(nodeWidth)}${cells.join('')}${styled('dim', clip(note, room))}`;
  });
  return [styled('bold', header), ...body];
}

function clip(text: string, width: number): string {
  return text.length <= width ? text : `${text.slice(0, Math.max(0, width - 1))}…`;
}

/** Plain lines, for where there is no terminal: the log, and the table only as far as it changes. */
export function plainScreen(out: Pick<Terminal, 'write'>): Screen {
  return {
    log: (text) => out.write(`${timeOfDay()}  ${text}\n`),
    table: () => {},
  };
}
