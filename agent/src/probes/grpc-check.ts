import { callGrpc } from './grpc-call.ts';
import { type Http2Check, http2Line } from './http2-line.ts';
import type { ProbeAnswer } from './probe.ts';
import type { OpenLine, ProbeTools } from './types.ts';

const STATUS_NAMES = [
  'OK CANCELLED UNKNOWN INVALID_ARGUMENT DEADLINE_EXCEEDED NOT_FOUND ALREADY_EXISTS PERMISSION_DENIED',
  'RESOURCE_EXHAUSTED FAILED_PRECONDITION ABORTED OUT_OF_RANGE UNIMPLEMENTED INTERNAL UNAVAILABLE DATA_LOSS',
  'UNAUTHENTICATED',
].flatMap((names) => names.split(' '));

/** A method that tells whether a server is well. */
export type GrpcCheck = {
  method: string;
  message: Uint8Array;
  /** What the message says that came with the status OK. May throw when it is not what it should be. */
  judge(message: Uint8Array): ProbeAnswer;
  /** What another status says, where that is known. */
  explain: Readonly<Record<string, string>>;
};

/** Calls the method; over TLS if `tls` is set, verified by `caBundle` if there is one. A string says what is wrong with that. */
export function grpcLine(
  protocol: string,
  check: GrpcCheck,
  { tls = false, caBundle }: { tls?: boolean; caBundle?: string },
  tools: ProbeTools,
): OpenLine | string {
  const trust = tls ? tools.tlsContexts.of(caBundle) : undefined;
  if (typeof trust === 'string') return trust;
  const ask: Http2Check['ask'] = async (connection, signal) => {
    const reply = await callGrpc(connection, check.method, check.message, signal);
    if (reply.status === 0) return tryJudge(check.judge, reply.message);
    const name = STATUS_NAMES[reply.status] ?? `gRPC status ${reply.status}`;
    return { healthy: false, says: `${check.explain[name] ?? 'answered with an error'} (${name})` };
  };
  return http2Line({ protocol, trust, ask }, tools);
}

function tryJudge(judge: GrpcCheck['judge'], message: Uint8Array): ProbeAnswer {
  try {
    return judge(message);
  } catch {
    return { healthy: false, says: 'answered with a message that cannot be read' };
  }
}
