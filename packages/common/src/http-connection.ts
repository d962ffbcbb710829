import type { RequestListener, Server, ServerOptions, ServerResponse } from 'node:http';
import type { Server as HttpsServer, ServerOptions as HttpsServerOptions } from 'node:https';
import type { Socket } from 'node:net';

/** What is still read, without being parsed, after an answer to a request that is not complete, and for how long. */
const LINGER_BYTES = 1024 * 1024;
const LINGER_MS = 1000;
/** What each read costs while lingering, in bytes: many small ones cost more than their content. */
const READ_BYTES = 1024;
/** Reads that one request may take beyond one for every 64 bytes. */
const READS_MAX = 100;
/** Bytes before the head of a request is complete: the largest head (16 KiB), what the same read brings, and empty lines. */
const HEAD_BYTES_MAX = 128 * 1024;

/** Thrown into the parser to stop it: Node.js would go on with all that it has read, also when the socket is destroyed. */
const ASKED_AGAIN = new Error('A client sent a request before the previous one was answered');

/** Feeds what a connection receives to the parser of HTTP, while the client keeps the rules. */
class Connection {
  readonly #socket: Socket;
  #response: ServerResponse | undefined;
  /** Whether a request began in what is parsed now. */
  #hasBegun = false;
  /** Reads of the current request. */
  #reads = 0;
  #bytes = 0;
  /** Received since the previous request was complete. */
  #headBytes = 0;
  /** What is still read, and not parsed; `undefined` while the parser gets everything. */
  #lingerBytes: number | undefined;

  constructor(socket: Socket) {
    this.#socket = socket;
    const parsers = socket.listeners('data') as ((bytes: Buffer) => void)[];
    socket.removeAllListeners('data');
    // Adding a listener also makes Node.js bring what it reads here, and not to the parser directly.
    socket.on('data', (bytes: Buffer) => this.#read(bytes, parsers));
    const destroySoon = socket.destroySoon.bind(socket);
    // Called by Node.js after the last answer of a connection. Closed for writing only, it still reads for a moment: a reset
    // could take the answer away.
    socket.destroySoon = () => void (this.#lingerBytes === undefined ? destroySoon() : socket.end());
  }

  /** Called when the head of a request is complete. Throws if the client did not wait for its turn. */
  begin(response: ServerResponse): void {
    const previous = this.#response;
    const hasUnread = previous !== undefined && (!previous.writableEnded || this.#socket.writableNeedDrain);
    if (this.#hasBegun || hasUnread) throw ASKED_AGAIN;
    this.#response = response;
    this.#hasBegun = true;
    // Each request has these bounds anew: a client that sends whole requests costs more than one that sends small pieces.
    this.#reads = 0;
    this.#bytes = 0;
    this.#headBytes = 0;
  }

  /** Parses nothing more, since the answer is given already, and closes the connection soon. */
  stopParsing(): void {
    if (this.#lingerBytes !== undefined) return;
    this.#lingerBytes = LINGER_BYTES;
    const timer = setTimeout(() => this.#socket.destroy(), LINGER_MS);
    this.#socket.once('close', () => clearTimeout(timer));
  }

  #read(bytes: Buffer, parsers: readonly ((bytes: Buffer) => void)[]): void {
    if (this.#lingerBytes !== undefined) {
      this.#lingerBytes -= bytes.length + READ_BYTES;
      if (this.#lingerBytes < 0) this.#socket.destroy();
      return;
    }
    this.#reads += 1;
    this.#bytes += bytes.length;
    if (this.#response?.req.complete ?? true) this.#headBytes += bytes.length;
    if (this.#reads > READS_MAX + this.#bytes / 64 || this.#headBytes > HEAD_BYTES_MAX) {
      return void this.#socket.destroy();
    }
    this.#hasBegun = false;
    try {
      for (const parse of parsers) parse.call(this.#socket, bytes);
    } catch (error) {
      if (error !== ASKED_AGAIN) throw error;
      this.#socket.destroy();
    }
  }
}

const connections = new WeakMap<Socket, Connection>();

/** Built when it is needed: an import of `node:http` costs memory, see `nodeHttp`. */
function boundedResponse(): typeof ServerResponse {
  return class extends process.getBuiltinModule('node:http').ServerResponse {
    constructor(...parameters: ConstructorParameters<typeof ServerResponse>) {
      super(...parameters);
      // Node.js creates one for every request, also for those that it answers itself.
      const [request] = parameters;
      connections.get(request.socket)?.begin(this);
    }

    override writeHead(...parameters: unknown[]): this {
      if (!this.req.complete) {
        this.shouldKeepAlive = false;
        connections.get(this.req.socket)?.stopParsing();
      }
      return super.writeHead(...(parameters as Parameters<ServerResponse['writeHead']>)) as this;
    }
  } as typeof ServerResponse;
}

/**
 * Creates an HTTP server that bounds what a connection costs. A client that sends a request before the previous one was
 * answered loses its connection, and where both came in one read, neither is handled. An answer to a request that is not
 * complete is the last one, and the rest of that request is not parsed.
 */
export function createHttpServer(options: ServerOptions, listener: RequestListener): Server {
  const server = process.getBuiltinModule('node:http').createServer({ ...options, ServerResponse: boundedResponse() });
  bindConnections(server, 'connection', listener);
  return server;
}

/** Creates an HTTPS server with the same bounds as {@link createHttpServer}. */
export function createHttpsServer(options: HttpsServerOptions, listener: RequestListener): HttpsServer {
  const server = process.getBuiltinModule('node:https').createServer({
    ...options,
    // A list of protocols is copied for each connection, into the pool of buffers: in a coordinator at work, each copy of
    // nine bytes keeps 22 KiB of the pool alive.
    ALPNCallback: ({ protocols }) => protocols.find((protocol) => protocol === 'http/1.1'),
    ServerResponse: boundedResponse(),
  });
  bindConnections(server, 'secureConnection', listener);
  return server;
}

function bindConnections(server: Server, event: string, listener: RequestListener): void {
  server.on(event, (socket: Socket) => {
    if (!socket.destroyed) connections.set(socket, new Connection(socket));
  });
  server.on('request', (request, response) => {
    // After everything that was read is parsed: by then it is known whether the client waits for its answer, and whether
    // its request is complete.
    queueMicrotask(() => {
      if (!request.socket.destroyed) listener(request, response);
    });
  });
}
