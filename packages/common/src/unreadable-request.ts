import type { Duplex } from 'node:stream';

const STATUSES: Readonly<Record<string, 408 | 413 | 431>> = {
  ERR_HTTP_REQUEST_TIMEOUT: 408,
  HPE_HEADER_OVERFLOW: 431,
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 413,
};

type Refusal = { title: string; type: string; body: string };

/**
 * Answers a request that is not HTTP, or was too slow, with the body that `refuse` returns for the status, and ends the
 * connection, since nothing after it can be understood. For the event `clientError` of an HTTP server.
 */
export function refuseUnreadable(
  error: NodeJS.ErrnoException,
  socket: Duplex,
  refuse: (status: 400 | 408 | 413 | 431, message: string) => Refusal,
): void {
  // After any other error no client waits for an answer: a reset is the client's own end of the connection, and what is
  // written before a TLS handshake has succeeded is never sent.
  const isHttp = error.code?.startsWith('HPE_') || error.code === 'ERR_HTTP_REQUEST_TIMEOUT';
  if (!isHttp || !socket.writable) {
    socket.destroy();
    return;
  }
  const status = STATUSES[error.code ?? ''] ?? 400;
  const { title, type, body } = refuse(status, 'The request is not valid HTTP, or was too slow');
  const head = [
    `HTTP/1.1 ${status} ${title}`,
    `content-type: ${type}`,
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`, () => socket.destroy());
}
