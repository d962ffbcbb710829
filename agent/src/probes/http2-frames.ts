/** As much of the frames of HTTP/2 (RFC 9113) as probes need. */

export const FRAME = {
  data: 0,
  headers: 1,
  priority: 2,
  rstStream: 3,
  settings: 4,
  pushPromise: 5,
  ping: 6,
  goaway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const;

export const FLAG = { ack: 0x01, endStream: 0x01, endHeaders: 0x04, padded: 0x08, priority: 0x20 } as const;

export const FRAME_HEADER_BYTES = 9;

export type FrameHeader = { length: number; type: number; flags: number; stream: number };

/** The first text of a client, section 3.4; its SETTINGS follow. */
export const MAGIC = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'latin1');

export function encodeFrame(
  type: number,
  flags: number,
  stream: number,
  payload: Uint8Array = Buffer.alloc(0),
): Buffer {
  const header = Buffer.alloc(FRAME_HEADER_BYTES);
  header.writeUIntBE(payload.length, 0, 3);
  header.writeUInt8(type, 3);
  header.writeUInt8(flags, 4);
  header.writeUInt32BE(stream, 5);
  return Buffer.concat([header, payload]);
}

/** Reads the `FRAME_HEADER_BYTES` before a frame. */
export function decodeFrameHeader(bytes: Buffer): FrameHeader {
  return {
    length: bytes.readUIntBE(0, 3),
    type: bytes.readUInt8(3),
    flags: bytes.readUInt8(4),
    stream: bytes.readUInt32BE(5) & 0x7fff_ffff,
  };
}

/** Whether this is how a server of HTTP/2 begins: SETTINGS of six bytes each on stream 0. */
export function isServerPreface({ length, type, flags, stream }: FrameHeader): boolean {
  return type === FRAME.settings && (flags & FLAG.ack) === 0 && stream === 0 && length % 6 === 0;
}
