import type { Clock } from '@rollcall/common/clock.ts';
import { exchange } from './exchange.ts';
import { decodeFrameHeader, encodeFrame, FRAME, FRAME_HEADER_BYTES, isServerPreface, MAGIC } from './http2-frames.ts';
import { idleLine } from './idle-line.ts';
import { createProbe } from './probe.ts';
import type { Probe, ProbeKind } from './types.ts';

/** The connection preface of a client, RFC 9113 section 3.4: a magic text and a SETTINGS frame, here an empty one. */
const PREFACE = Buffer.concat([MAGIC, encodeFrame(FRAME.settings, 0, 0)]);

/**
 * Healthy when a server of HTTP/2 in clear text (as gRPC speaks it) answers the client's preface with its own, a
 * SETTINGS frame on stream 0.
 */
export function createHttp2Probe(clock: Clock): Probe {
  return createProbe('http2', clock, async (target, signal) => {
    const header = await exchange(target, signal, PREFACE, FRAME_HEADER_BYTES);
    return isServerPreface(decodeFrameHeader(header))
      ? { healthy: true, says: 'answered with SETTINGS' }
      : { healthy: false, says: 'did not answer in HTTP/2' };
  });
}

export const http2: ProbeKind = {
  kind: 'http2',
  prepare: (_spec, { clock }) => idleLine(createHttp2Probe(clock)),
};
