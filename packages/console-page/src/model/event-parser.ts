/** An event of a stream as the HTML standard has it; `data` may be of several lines. */
export type ServerSentEvent = { name: string; data: string; id: string | undefined };

/** Takes the text of `text/event-stream` in whatever pieces it comes. */
export class EventParser {
  #rest = '';

  /** Returns the events that are complete. Comments and unknown fields are none. */
  take(piece: string): ServerSentEvent[] {
    const blocks = (this.#rest + piece).split(/\r?\n\r?\n/);
    this.#rest = blocks.pop() ?? '';
    return blocks.map(parse).filter((event) => event !== undefined);
  }
}

function parse(block: string): ServerSentEvent | undefined {
  const fields = new Map<string, string>();
  for (const line of block.split(/\r?\n/)) {
    const [, field = '', value = ''] = /^([^:]*):? ?(.*)$/s.exec(line) ?? [];
    const before = field === 'data' ? fields.get(field) : undefined;
    fields.set(field, before === undefined ? value : `${before}\n${value}`);
  }
  const data = fields.get('data');
  return data === undefined ? undefined : { name: fields.get('event') ?? 'message', data, id: fields.get('id') };
}
