import type { StreamEvents } from '@rollcall/common/console.ts';
import { EventParser } from '../model/event-parser.ts';

export type StreamEvent = {
  [Name in keyof StreamEvents]: { name: Name; id: string | undefined; data: StreamEvents[Name] };
}[keyof StreamEvents];

const NAMES: readonly string[] = ['replica', 'node', 'node-gone', 'reset'] satisfies (keyof StreamEvents)[];

/**
 * Reads the stream from after the event with this id to its end. It is read with `fetch`, since an EventSource does not
 * report keep-alives, and would wait forever on a connection that is dead but open. `onBytes` is called for all bytes.
 */
export async function* streamEvents(
  after: string | undefined,
  signal: AbortSignal,
  onBytes: () => void,
): AsyncGenerator<StreamEvent[]> {
  const query = after === undefined ? '' : `?after=${encodeURIComponent(after)}`;
  const response = await fetch(`v1/stream${query}`, { signal, cache: 'no-store' });
  if (!response.ok || !response.body) throw new Error(`The coordinator answered ${response.status}`);
  const parser = new EventParser();
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    onBytes();
    const events = parser.take(value).filter(({ name }) => NAMES.includes(name));
    yield events.map(({ name, id, data }) => ({ name, id, data: JSON.parse(data) }) as StreamEvent);
  }
}
