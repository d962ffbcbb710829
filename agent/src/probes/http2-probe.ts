import type { Clock } from '@rollcall/common/clock.ts';
import { exchange } from './exchange.ts';
import { idleLine } from './idle-line.ts';
import { createProbe } from './probe.ts';
import type { Probe, ProbeKind } from './types.ts';

const FRAME_HEADER_BYTES = 9;
const SETTINGS_FRAME = 4;
const ACK_FLAG = 1;

/** The connection preface of a client, RFC 9113 section 3.4: a magic text and a SETTINGS frame, here an empty one. */
const PREFACE = Buffer.concat([
  Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'latin1'),
  Uint8Array.of(0, 0, 0, SETTINGS_FRAME, 0, 0, 0, 0, 0),
]);

/**
 * Healthy when a server of HTTP/2 in clear text (as gRPC speaks it) answers the client's preface with its own, a
 * SETTINGS frame on stream 0.
 */
export function createHttp2Probe(clock: Clock): Probe {
  return createProbe('http2', clock, async (target, signal) => {
    const header = await exchange(target, signal, PREFACE, FRAME_HEADER_BYTES);
    return isServerPreface(header)
      ? { healthy: true, says: 'answered with SETTINGS' }
      : { healthy: false, says: 'did not answer in HTTP/2' };
  });
}

function isServerPreface(header: Buffer): boolean {
  const isSettings = header.readUInt8(3) === SETTINGS_FRAME && (header.readUInt8(4) & ACK_FLAG) === 0;
  const streamId = header.readUInt32BE(5) & 0x7fff_ffff;
  // Settings are six bytes each.
  return isSettings && streamId === 0 && header.readUIntBE(0, 3) % 6 === 0;
}

export const http2: ProbeKind = {
  kind: 'http2',
  prepare: (_spec, { clock }) => idleLine(createHttp2Probe(clock)),
};
