import { EventEmitter } from 'node:events';
import type { IncomingHttpHeaders, IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { HttpAnswer, HttpPost } from '@rollcall/agent/report/http-post.ts';
import type { ReportHandler } from '@rollcall/coordinator/ingest/report-handler.ts';

/** A request as it left an agent. */
export type Letter = { url: string; headers: HttpPost['headers']; body: string };

/** Hands a request to the real handler, as `node:http` would have, without a socket. Resolves to its answer. */
export function knock(handler: ReportHandler, { url, headers, body }: Letter): Promise<HttpAnswer> {
  const { promise, resolve } = Promise.withResolvers<HttpAnswer>();
  const bytes = Buffer.from(body);
  const request = new Request(new URL(url).pathname, { ...headers, 'content-length': String(bytes.length) }, bytes);
  void handler.handle(
    request as unknown as IncomingMessage,
    new Response(resolve) as unknown as ServerResponse<IncomingMessage>,
  );
  return promise;
}

/** The part of IncomingMessage that is used. */
class Request extends EventEmitter {
  readonly method = 'POST';
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly destroyed = false;
  readableEnded = false;

  constructor(path: string, headers: IncomingHttpHeaders, body: Buffer) {
    super();
    this.url = path;
    this.headers = headers;
    // It flows once there is a reader.
    this.once('newListener', () =>
      queueMicrotask(() => {
        this.emit('data', body);
        this.readableEnded = true;
        this.emit('end');
        this.emit('close');
      }),
    );
  }
}

/** The part of ServerResponse that is used. */
class Response {
  readonly #answer: (answer: HttpAnswer) => void;
  readonly #headers: Record<string, string> = {};
  #status = 200;
  #body = '';
  headersSent = false;

  constructor(answer: (answer: HttpAnswer) => void) {
    this.#answer = answer;
  }

  setHeader(name: string, value: string): void {
    this.#headers[name] = value;
  }

  writeHead(status: number, headers: OutgoingHttpHeaders): void {
    this.#status = status;
    this.headersSent = true;
    for (const [name, value] of Object.entries(headers)) this.#headers[name.toLowerCase()] = String(value);
  }

  write(text: string): void {
    this.#body += text;
  }

  end(text = ''): void {
    this.write(text);
    this.#answer({ status: this.#status, headers: this.#headers, body: this.#body });
  }

  destroy(): void {}
}
