import stringWidth from 'string-width';

/** Columns that a text takes in a terminal. */
export function widthOf(text: string): number {
  // Most text is ASCII, which is quick to see.
  return /^[\x20-\x7e]*$/.test(text) ? text.length : stringWidth(text);
}

export function padEnd(text: string, columns: number): string {
  return text + ' '.repeat(Math.max(0, columns - widthOf(text)));
}

export function padStart(text: string, columns: number): string {
  return ' '.repeat(Math.max(0, columns - widthOf(text))) + text;
}

/** Takes out the middle of what is too wide: what names of one kind differ in is at their ends. */
export function shortened(text: string, columns: number): string {
  if (widthOf(text) <= columns) return text;
  if (columns <= 1) return '…'.slice(0, columns);
  const chars = [...new Intl.Segmenter().segment(text)].map(({ segment }) => segment);
  const tail = take(chars.toReversed(), Math.floor((columns - 1) / 2)).toReversed();
  const head = take(chars, columns - 1 - widthOf(tail.join('')));
  return `${head.join('')}…${tail.join('')}`;
}

function take(chars: readonly string[], columns: number): string[] {
  const taken: string[] = [];
  let used = 0;
  for (const char of chars) {
    used += widthOf(char);
    if (used > columns) break;
    taken.push(char);
  }
  return taken;
}

/** Breaks a text at its spaces into lines of at most so many columns; a longer word has a line of its own. */
export function wrapped(text: string, columns: number): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    const longer = line === '' ? word : `${line} ${word}`;
    if (line !== '' && widthOf(longer) > columns) {
      lines.push(line);
      line = word;
    } else line = longer;
  }
  return [...lines, line];
}
