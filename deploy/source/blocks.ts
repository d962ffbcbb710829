/**
 * A block of a document between `<!-- NAME:begin -->` and `<!-- NAME:end -->`, or of a template between comments of Helm,
 * made from the source.
 */
export type GeneratedBlock = { file: string; name: string; content: string };

/** `text` with the block's content replaced. Throws when the document has no such block. */
export function fillBlock(text: string, { file, name, content }: GeneratedBlock): string {
  const isTemplate = file.endsWith('.yaml');
  const comment = (what: string) => (isTemplate ? `{{- /* ${name}:${what} */}}` : `<!-- ${name}:${what} -->`);
  const begin = comment('begin');
  const end = comment('end');
  const from = text.indexOf(begin);
  const to = text.indexOf(end);
  if (from < 0 || to < from) throw new Error(`${file} has no block ${begin} … ${end}`);
  const around = isTemplate ? ['\n', '\n  '] : ['\n\n', '\n\n'];
  return `${text.slice(0, from + begin.length)}${around.join(content)}${text.slice(to)}`;
}

export function markdownTable(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(header), line(header.map(() => '---')), ...rows.map(line)].join('\n');
}
