import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { Agent, request } from 'node:https';
import type { ControlPlane } from '../control-plane/control-plane.ts';
import { WatchStream } from './watch-stream.ts';
import { type Write, writeOf } from './write.ts';

export type Answer = { status: number; headers: Record<string, string | string[] | undefined>; body: string };

/** What becomes of a write: `undefined` is no answer at all. `forward` brings it to the API server. */
type OnWrite = (gateway: Gateway, write: Write, forward: () => Promise<Answer>) => Promise<Answer | undefined>;

export type GatewayOptions = {
  controlPlane: ControlPlane;
  /** Whose requests come this way: the name of a coordinator. */
  client: string;
  port: number;
  /** Whose the Lease is. */
  holder: () => string | undefined;
  onWrite: OnWrite;
};

/** Stands between one coordinator and the API servers, on plain HTTP. */
export class Gateway {
  readonly client: string;
  readonly url: string;
  /** Where reads go; writes go to the API server that is never behind. */
  readsAt: string;
  readonly #options: GatewayOptions;
  readonly #agent: Agent;
  readonly #server: Server;
  readonly #watches = new Set<WatchStream>();
  #frozen = false;

  constructor(options: GatewayOptions) {
    const { controlPlane, client, port } = options;
    this.#options = options;
    this.client = client;
    this.url = `http://127.0.0.1:${port}`;
    this.readsAt = controlPlane.url;
    this.#agent = new Agent({ keepAlive: true, ca: controlPlane.ca });
    this.#server = createServer((incoming, answer) => {
      this.#handle(incoming, answer).catch(() => answer.destroy());
    });
  }

  start(): Promise<void> {
    return new Promise((resolve) => this.#server.listen(Number(new URL(this.url).port), '127.0.0.1', resolve));
  }

  get watches(): readonly WatchStream[] {
    return [...this.#watches];
  }

  /** No watch tells anything, those that are opened meanwhile included. */
  freeze(): void {
    this.#frozen = true;
    for (const watch of this.#watches) watch.freeze();
  }

  thaw(): void {
    this.#frozen = false;
    for (const watch of this.#watches) watch.thaw();
  }

  /** Ends every watch, so that it is opened anew. */
  cut(): void {
    for (const watch of this.#watches) watch.cut();
  }

  stop(): void {
    this.#server.close();
    this.#server.closeAllConnections();
    this.#agent.destroy();
  }

  async #handle(incoming: IncomingMessage, out: ServerResponse): Promise<void> {
    const { method = 'GET', url = '/' } = incoming;
    const body = await textOf(incoming);
    if (method === 'GET') return this.#read(incoming, out, new URL(url, this.readsAt));
    const contentType = incoming.headers['content-type'] ?? '';
    const write = writeOf({ method, url, contentType, body }, this.#options.holder());
    const forward = () => this.#forward(incoming, body);
    const answer = write ? await this.#options.onWrite(this, write, forward) : await forward();
    if (!answer) return void out.destroy();
    out.writeHead(answer.status, answer.headers);
    out.end(answer.body);
  }

  #read(incoming: IncomingMessage, out: ServerResponse, url: URL): Promise<void> {
    const isWatch = url.searchParams.get('watch') === 'true';
    return new Promise((resolve, reject) => {
      const onward = request(url, this.#optionsFor(incoming), (response) => {
        out.writeHead(response.statusCode ?? 502, response.headers);
        if (isWatch && response.statusCode === 200) this.#watch(url.pathname, response, out);
        else response.pipe(out);
        resolve();
      });
      onward.on('error', reject);
      out.on('close', () => onward.destroy());
      onward.end();
    });
  }

  #watch(path: string, response: IncomingMessage, out: ServerResponse): void {
    out.flushHeaders();
    const watch = new WatchStream(path, out);
    if (this.#frozen) watch.freeze();
    this.#watches.add(watch);
    response.setEncoding('utf8');
    response.on('data', (chunk: string) => watch.push(chunk));
    response.on('end', () => out.end());
    response.on('error', () => out.destroy());
    out.on('close', () => this.#watches.delete(watch));
  }

  #forward(incoming: IncomingMessage, body: string): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const url = new URL(incoming.url ?? '/', this.#options.controlPlane.url);
      const onward = request(url, this.#optionsFor(incoming), (response) => {
        const { statusCode: status = 502, headers } = response;
        textOf(response).then((text) => resolve({ status, headers, body: text }), reject);
      });
      onward.on('error', reject);
      onward.end(body);
    });
  }

  #optionsFor({ method = 'GET', headers }: IncomingMessage) {
    const { host: _host, connection: _connection, ...kept } = headers;
    return { method, headers: kept, agent: this.#agent };
  }
}

async function textOf(stream: IncomingMessage): Promise<string> {
  stream.setEncoding('utf8');
  let text = '';
  for await (const chunk of stream) text += chunk as string;
  return text;
}
