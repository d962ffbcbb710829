import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { REPORTS_PATH } from '@rollcall/common/well-known.ts';

/** One request of few bytes, without a body. */
export const METRICS_REQUEST = 'GET /metrics HTTP/1.1\r\nhost: a\r\n\r\n';
export const UNKNOWN_PATH_REQUEST = 'GET /x HTTP/1.1\r\nhost: a\r\n\r\n';

/** Repeats a request as often as Node.js reads at once. */
export function oneRead(request: string): string {
  return request.repeat(Math.floor(65_536 / request.length));
}

function open(url: string): Socket {
  const { protocol, hostname, port } = new URL(url);
  const where = { port: Number(port), host: hostname };
  return protocol === 'https:' ? connectTls({ ...where, rejectUnauthorized: false }) : connect(where);
}

export type Conversation = { answers: number; bytesSent: number; closed: boolean };

/**
 * Writes `head` once and `body` as often as the server reads it to a new connection, until the server closes it or
 * `forMs` are over. Counts the answers.
 */
export function pour(
  url: string,
  { head = '', body = '', forMs }: { head?: string; body?: string; forMs: number },
): Promise<Conversation> {
  const socket = open(url);
  return new Promise((resolve) => {
    let answers = 0;
    let closed = true;
    const timer = setTimeout(() => {
      closed = false;
      socket.destroy();
    }, forMs);
    const write = () => {
      while (body !== '' && !socket.destroyed && socket.write(body));
    };
    // An answer begins with one write of the server, so its first line is in one piece.
    socket.setEncoding('latin1').on('data', (text: string) => {
      answers += text.split('HTTP/1.1 ').length - 1;
    });
    socket.on('drain', write).on('error', () => {});
    socket.once('close', () => {
      clearTimeout(timer);
      resolve({ answers, bytesSent: socket.bytesWritten ?? 0, closed });
    });
    socket.once(url.startsWith('https:') ? 'secureConnect' : 'connect', () => {
      socket.write(head);
      write();
    });
  });
}

/** Keeps so many connections busy with {@link pour}, each opened again when the server closes it. */
export async function pourAgain(
  url: string,
  what: { head?: string; body?: string },
  { connections, forMs }: { connections: number; forMs: number },
): Promise<void> {
  const endMs = performance.now() + forMs;
  const one = async () => {
    for (let leftMs = forMs; leftMs > 0; leftMs = endMs - performance.now()) {
      await pour(url, { ...what, forMs: leftMs });
    }
  };
  await Promise.all(Array.from({ length: connections }, one));
}

/** A report without a token whose body comes in chunks of one byte. */
export const TINY_CHUNKS = {
  head: `POST ${REPORTS_PATH} HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n`,
  body: '1\r\nx\r\n'.repeat(10_000),
};
