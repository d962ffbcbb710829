import { onTestFinished, vi } from 'vitest';

/** Something that the page asked for, and how it is answered. */
export type Asked = {
  path: string;
  cache: RequestCache | undefined;
  isAborted: () => boolean;
  answer: (response: Response) => void;
  fail: (error: Error) => void;
  stream: () => EventStream;
};

/** A stream of events that is the answer. */
export type EventStream = { send: (text: string) => void; end: () => void; fail: (error: Error) => void };

/** Stands in for `fetch` until the test ends. Returns what is asked for, as it comes. */
export function standInForFetch(): Asked[] {
  const asked: Asked[] = [];
  vi.stubGlobal('fetch', (path: string, { signal, cache }: RequestInit = {}) => {
    const { promise, resolve, reject } = Promise.withResolvers<Response>();
    signal?.addEventListener('abort', () => reject(signal.reason), { once: true });
    asked.push({
      path,
      cache,
      isAborted: () => signal?.aborted === true,
      answer: resolve,
      fail: reject,
      stream: () => streamTo(resolve, signal ?? undefined),
    });
    return promise;
  });
  onTestFinished(() => void vi.unstubAllGlobals());
  return asked;
}

function streamTo(answer: (response: Response) => void, signal: AbortSignal | undefined): EventStream {
  let fail: (error: unknown) => void = () => {};
  const encoder = new TextEncoder();
  const { readable, writable } = new TransformStream<Uint8Array<ArrayBuffer>>({
    start: (controller) => {
      fail = (error) => controller.error(error);
    },
  });
  const writer = writable.getWriter();
  // The reader gets the error; this promise may reject without a handler.
  writer.closed.catch(() => {});
  signal?.addEventListener('abort', () => fail(signal.reason), { once: true });
  answer(new Response(readable));
  return {
    send: (text) => void writer.write(encoder.encode(text)).catch(() => {}),
    end: () => void writer.close().catch(() => {}),
    fail,
  };
}

/** Lets promises and streams do what they can do at once. */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 10; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}
