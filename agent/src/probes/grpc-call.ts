import type { Http2Answer, Http2Connection } from './http2-connection.ts';
import { BadAnswer } from './probe.ts';

/** A status of gRPC and its message. */
export type GrpcReply = { status: number; message: Uint8Array };

const PREFIX_BYTES = 5;
/** RFC of gRPC over HTTP/2: a status is a number of a few digits. */
const STATUS = /^\d{1,9}$/;

/**
 * Calls a method that takes one message and gives one. Rejects as `Http2Connection.request` does, and with
 * BadAnswer for an answer that is not in gRPC.
 */
export async function callGrpc(
  connection: Http2Connection,
  method: string,
  message: Uint8Array,
  signal: AbortSignal,
): Promise<GrpcReply> {
  const answer = await connection.request(
    [
      [':method', 'POST'],
      [':path', method],
      ['content-type', 'application/grpc'],
      ['te', 'trailers'],
      ['user-agent', 'rollcall-agent'],
    ],
    framed(message),
    signal,
  );
  return readReply(answer);
}

function readReply({ headers, body }: Http2Answer): GrpcReply {
  const httpStatus = headers.get(':status') ?? '';
  const isGrpc = httpStatus === '200' && headers.get('content-type')?.startsWith('application/grpc');
  if (!isGrpc) throw new BadAnswer(`answered HTTP status ${httpStatus.slice(0, 3)}, and not in gRPC`);
  const status = headers.get('grpc-status') ?? '';
  if (!STATUS.test(status)) throw new BadAnswer('answered without a status of gRPC');
  if (Number(status) !== 0) return { status: Number(status), message: body.subarray(0, 0) };
  const isWhole = body.length >= PREFIX_BYTES && body.length === PREFIX_BYTES + body.readUInt32BE(1) && body[0] === 0;
  if (!isWhole) throw new BadAnswer('answered with no message of gRPC');
  return { status: 0, message: body.subarray(PREFIX_BYTES) };
}

/** A message that is not compressed, as it goes over the wire. */
function framed(message: Uint8Array): Buffer {
  const prefix = Buffer.alloc(PREFIX_BYTES);
  prefix.writeUInt32BE(message.length, 1);
  return Buffer.concat([prefix, message]);
}
