import { readFile } from 'node:fs/promises';
import { Agent, request } from 'node:https';
import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { PROTOCOL_VERSION } from '@rollcall/common/report.ts';
import { REPORTS_PATH } from '@rollcall/common/well-known.ts';

/** Connections of an attacker, which the server has closed or not. */
export class Held {
  readonly #sockets: Socket[] = [];

  /** So many that ask once, as an attacker would to seem alive, and are then kept. */
  async keepPlain(url: string, count: number, path = '/healthz'): Promise<void> {
    const { hostname, port } = new URL(url);
    await this.#open(count, () => {
      const socket = connect(Number(port), hostname);
      socket.write(`GET ${path} HTTP/1.1\r\nhost: a\r\n\r\n`);
      return { socket, opened: 'data' };
    });
  }

  /** So many with a finished handshake, on which nothing is asked. */
  async idleTls(url: string, count: number): Promise<void> {
    const { hostname, port } = new URL(url);
    await this.#open(count, () => {
      const socket = connectTls({ port: Number(port), host: hostname, rejectUnauthorized: false });
      return { socket, opened: 'secureConnect' };
    });
  }

  /** So many that ask for what is not there, and are then kept. */
  async refusedTls(url: string, count: number): Promise<void> {
    const { hostname, port } = new URL(url);
    await this.#open(count, () => {
      const socket = connectTls({ port: Number(port), host: hostname, rejectUnauthorized: false });
      socket.write('GET /nothing HTTP/1.1\r\nhost: a\r\n\r\n');
      return { socket, opened: 'data' };
    });
  }

  /** So many that never begin a handshake. */
  async silent(url: string, count: number): Promise<void> {
    const { hostname, port } = new URL(url);
    await this.#open(count, () => ({ socket: connect(Number(port), hostname), opened: 'connect' }));
  }

  get open(): number {
    return this.#sockets.filter(({ destroyed }) => !destroyed).length;
  }

  drop(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  async #open(count: number, start: () => { socket: Socket; opened: string }): Promise<void> {
    await Promise.all(
      Array.from({ length: count }, () => {
        const { socket, opened } = start();
        this.#sockets.push(socket);
        // Closed without having been let in counts as well: the attacker had his try.
        return new Promise<void>((resolve) => {
          socket.once(opened, () => resolve());
          socket.once('close', () => resolve());
          socket.on('error', () => {});
          socket.on('data', () => {});
        });
      }),
    );
  }
}

export type Answer = { status: number; body: string };

/** Posts reports with tokens that the attacker has or makes up, by as many connections as he likes. */
export class Thief {
  readonly #agent: Agent;
  readonly #url: string;

  constructor(reportsUrl: string, connections = 16) {
    this.#url = `${reportsUrl}${REPORTS_PATH}`;
    this.#agent = new Agent({ keepAlive: true, maxSockets: connections, rejectUnauthorized: false });
  }

  post(token: string, body: object | string): Promise<Answer> {
    const text = typeof body === 'string' ? body : JSON.stringify({ protocol: PROTOCOL_VERSION, ...body });
    return new Promise((resolve, reject) => {
      const outgoing = request(
        this.#url,
        {
          method: 'POST',
          agent: this.#agent,
          headers: {
            authorization: `Bearer ${token}`,
            'content-type': 'application/json',
            'content-length': Buffer.byteLength(text),
          },
        },
        (response) => {
          let answer = '';
          response.setEncoding('utf8');
          response.on('data', (chunk: string) => {
            answer += chunk;
          });
          response.on('end', () => resolve({ status: response.statusCode ?? 0, body: answer }));
          response.on('error', reject);
        },
      );
      outgoing.on('error', reject);
      outgoing.end(text);
    });
  }

  /** Posts all at once, and counts the answers by status; 0 stands for none. */
  async flood(tokens: readonly string[], body: object | string): Promise<Map<number, number>> {
    const counts = new Map<number, number>();
    const ask = async (token: string) => {
      const { status } = await this.post(token, body).catch(() => ({ status: 0 }));
      counts.set(status, (counts.get(status) ?? 0) + 1);
    };
    await Promise.all(tokens.map(ask));
    return counts;
  }

  close(): void {
    this.#agent.destroy();
  }
}

/** Reads the token in a file, as an attacker on the node can. */
export async function stolenToken(file: string): Promise<string> {
  return (await readFile(file, 'utf8')).trim();
}

/** A token with other claims or another head, and the signature that it had. */
export function forgedToken(token: string, claims: object, head: object = {}): string {
  const [first = '', body = '', signature = ''] = token.split('.');
  const change = (part: string, values: object) =>
    Buffer.from(JSON.stringify({ ...JSON.parse(Buffer.from(part, 'base64url').toString()), ...values })).toString(
      'base64url',
    );
  return `${change(first, head)}.${change(body, claims)}.${signature}`;
}

/** A valid report of some 200 KB, as large as reports may be in what costs most. */
export function largeReport(node: string, sequence: number): object {
  const devices = Array.from({ length: 500 }, (_, index) => ({
    bus: 'pci',
    attributes: { class: '020000', vendor: '15b3', device: `${1000 + index}`, serial: 'x'.repeat(300) },
  }));
  return { node, boot: 'large', sequence, digest: 'd', services: [], devices, facts: {} };
}
