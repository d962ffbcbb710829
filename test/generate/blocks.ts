/** A block of a document between `<!-- NAME:begin -->` and `<!-- NAME:end -->`, made from the source. */
export type GeneratedBlock = { file: string; name: string; content: string };

/** `text` with the block's content replaced. Throws when the document has no such block. */
export function fillBlock(text: string, { file, name, content }: GeneratedBlock): string {
  const begin = `<!-- ${name}:begin -->`;
  const end = `<!-- ${name}:end -->`;
  const from = text.indexOf(begin);
  const to = text.indexOf(end);
  if (from < 0 || to < from) throw new Error(`${file} has no block ${begin} … ${end}`);
  return `${text.slice(0, from + begin.length)}\n\n${content}\n\n${text.slice(to)}`;
}

export function markdownTable(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(header), line(header.map(() => '---')), ...rows.map(line)].join('\n');
}
