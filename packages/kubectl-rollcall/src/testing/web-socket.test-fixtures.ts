import { createHash } from 'node:crypto';
import type { IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';

/** One web socket of a server, as far as a port-forward uses it. */
export type WebSocketEnd = {
  path: string;
  /** What the client sent, the number of the stream first in each. */
  received: Buffer[];
  send: (stream: number, data: string | Buffer) => void;
  /** Ends the connection, as who closes a web socket does. */
  close: () => void;
  isClosed: boolean;
};

const ACCEPT = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
const CLOSE = 0x88;
const BINARY = 0x82;

/** Takes web sockets at a server, and hands each over as it opens. */
export function takeWebSockets(server: Server, onOpen: (end: WebSocketEnd) => void): void {
  server.on('upgrade', (request: IncomingMessage, socket: Duplex) => {
    const accept = createHash('sha1').update(`${request.headers['sec-websocket-key']}${ACCEPT}`).digest('base64');
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\nSec-WebSocket-Protocol: v4.channel.k8s.io\r\n\r\n`,
    );
    const end: WebSocketEnd = {
      path: request.url ?? '',
      received: [],
      send: (stream, data) => {
        const payload = Buffer.concat([Buffer.of(stream), Buffer.from(data)]);
        socket.write(Buffer.concat([Buffer.of(BINARY, payload.length), payload]));
      },
      close: () => socket.end(Buffer.of(CLOSE, 0)),
      isClosed: false,
    };
    socket.on('data', (data: Buffer) => receive(end, data));
    socket.on('error', () => {});
    socket.once('close', () => {
      end.isClosed = true;
    });
    onOpen(end);
  });
}

/** Frames of clients are masked; those here are short, and come whole. */
function receive(end: WebSocketEnd, data: Buffer): void {
  for (let at = 0; at + 6 <= data.length; ) {
    const length = (data[at + 1] ?? 0) & 0x7f;
    const mask = data.subarray(at + 2, at + 6);
    const payload = data.subarray(at + 6, at + 6 + length).map((byte, index) => byte ^ (mask[index % 4] ?? 0));
    if (data[at] === BINARY) end.received.push(Buffer.from(payload));
    else if (data[at] === CLOSE) end.isClosed = true;
    at += 6 + length;
  }
}
