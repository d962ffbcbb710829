import { once } from 'node:events';
import { connect as connectTcp, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';

const HEAD_END = Buffer.from('\r\n\r\n');

export type Answer = { status: number; body: Buffer };

/**
 * HTTP/1.1 on one connection that is kept, one request after the other, with no more work than needed: the core is to
 * be left to the server that is measured.
 */
export class KeptConnection {
  readonly #socket: Socket;
  #received: Buffer[] = [];
  #bytes = 0;
  /** Length of the awaited answer in bytes, once its head has arrived. */
  #wanted = 0;
  #headBytes = 0;
  #settle: { resolve: (answer: Answer) => void; reject: (error: Error) => void } | undefined;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.setNoDelay(true);
    socket.on('data', (chunk: Buffer) => this.#take(chunk));
    socket.on('error', (error) => this.#settle?.reject(error));
    socket.on('close', () => this.#settle?.reject(new Error('The server closed the connection')));
  }

  /** With the CA's certificate (PEM) by TLS. */
  static async open(port: number, ca?: string): Promise<KeptConnection> {
    const where = { host: '127.0.0.1', port };
    const socket = ca === undefined ? connectTcp(where) : connectTls({ ...where, ca });
    await once(socket, ca === undefined ? 'connect' : 'secureConnect');
    return new KeptConnection(socket);
  }

  /** Sends a request as it goes over the wire. Rejects when the connection ends before the answer. */
  send(bytes: string | Buffer): Promise<Answer> {
    return new Promise((resolve, reject) => {
      if (this.#socket.destroyed) return reject(new Error('The server closed the connection'));
      this.#settle = { resolve, reject };
      this.#socket.write(bytes);
    });
  }

  close(): void {
    this.#settle = undefined;
    this.#socket.destroy();
  }

  #take(chunk: Buffer): void {
    this.#received.push(chunk);
    this.#bytes += chunk.length;
    if (this.#wanted === 0 && !this.#readHead()) return;
    if (this.#bytes < this.#wanted) return;
    const all = this.#received.length === 1 && this.#received[0] ? this.#received[0] : Buffer.concat(this.#received);
    const answer = { status: Number(all.toString('latin1', 9, 12)), body: all.subarray(this.#headBytes) };
    this.#received = [];
    this.#bytes = 0;
    this.#wanted = 0;
    this.#settle?.resolve(answer);
  }

  #readHead(): boolean {
    const all = this.#received.length === 1 && this.#received[0] ? this.#received[0] : Buffer.concat(this.#received);
    const end = all.indexOf(HEAD_END);
    if (end < 0) return false;
    const length = /\r\ncontent-length: *(\d+)/i.exec(all.toString('latin1', 0, end + 4))?.[1];
    this.#headBytes = end + 4;
    this.#wanted = this.#headBytes + Number(length ?? 0);
    return true;
  }
}

/** A POST of JSON as it goes over the wire. */
export function postBytes(path: string, body: string, headers: Readonly<Record<string, string>> = {}): string {
  const all = {
    host: '127.0.0.1',
    'content-type': 'application/json',
    ...headers,
    'content-length': Buffer.byteLength(body),
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`);
  return `POST ${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n${body}`;
}
