import { type ClientHttp2Session, connect, createServer, type Http2Server, type ServerHttp2Stream } from 'node:http2';

const WATCH = '/etcdserverpb.Watch/Watch';

/**
 * Stands between an API server and its etcd. What the API server asks for passes; what etcd tells by its watches can be
 * held, and then this API server is behind the others: its caches, its admission and its watches show the past, while
 * reads that insist on the present, and writes, are served by etcd as ever.
 */
export class EtcdLink {
  readonly #etcdPort: number;
  readonly #server: Http2Server;
  readonly #sessions = new Set<{ destroy(): void }>();
  /** Held data, in order; `undefined` while nothing is held. */
  #held: (() => void)[] | undefined;

  constructor(etcdPort: number) {
    this.#etcdPort = etcdPort;
    this.#server = createServer();
    this.#server.on('session', (near) => {
      const far = connect(`http://127.0.0.1:${this.#etcdPort}`);
      far.on('error', () => near.destroy());
      far.on('close', () => near.destroy());
      near.on('error', () => {});
      near.on('close', () => {
        far.destroy();
        this.#sessions.delete(near);
      });
      this.#sessions.add(near);
      near.on('stream', (stream, headers) => this.#pass(stream as ServerHttp2Stream, headers, far));
    });
  }

  listen(port: number): Promise<void> {
    return new Promise((resolve) => this.#server.listen(port, '127.0.0.1', resolve));
  }

  /** From now on, nothing that watches tell comes through. */
  hold(): void {
    this.#held ??= [];
  }

  /** All that was held comes, in order, and what follows at once. */
  release(): void {
    const held = this.#held ?? [];
    this.#held = undefined;
    for (const goOn of held) goOn();
  }

  stop(): void {
    for (const session of this.#sessions) session.destroy();
    this.#server.close();
  }

  #pass(near: ServerHttp2Stream, headers: Record<string, unknown>, far: ClientHttp2Session): void {
    const onward = far.request(headers as Record<string, string>, { endStream: false });
    const isWatch = headers[':path'] === WATCH;
    near.on('close', () => onward.close());
    near.on('error', () => onward.close());
    onward.on('error', () => near.close());
    near.pipe(onward);
    let trailers: Record<string, unknown> = {};
    onward.on('response', (answer) => {
      if (near.destroyed) return;
      // An answer of trailers alone, as gRPC has them for an error.
      const isOnlyTrailers = answer['grpc-status'] !== undefined;
      near.respond(answer, isOnlyTrailers ? { endStream: true } : { waitForTrailers: true });
    });
    onward.on('trailers', (last) => {
      trailers = last;
    });
    near.on('wantTrailers', () => near.sendTrailers(trailers as Record<string, string>));
    const inOrder = (goOn: () => void) => {
      if (isWatch && this.#held) this.#held.push(goOn);
      else goOn();
    };
    onward.on('data', (chunk: Buffer) => inOrder(() => near.destroyed || near.write(chunk)));
    onward.on('end', () => inOrder(() => near.destroyed || near.end()));
  }
}
