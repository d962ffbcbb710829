import type { GrpcSettings } from '@rollcall/common/checks/kinds/grpc.ts';
import { grpcLine } from './grpc-check.ts';
import { decodeFields, encodeText } from './protobuf.ts';
import type { ProbeKind } from './types.ts';

const STATUSES = ['UNKNOWN', 'SERVING', 'NOT_SERVING', 'SERVICE_UNKNOWN'];

/**
 * Healthy when `Check` of grpc.health.v1 says SERVING of `service`, or, without one, of the whole server
 * (https://github.com/grpc/grpc/blob/master/doc/health-checking.md). Over the network or a `socket`, in clear text or over TLS.
 */
export const grpc: ProbeKind<GrpcSettings> = {
  kind: 'grpc',
  pathOf: ({ socket }) => socket,
  prepare({ service = '', ...over }, tools) {
    const named = service === '' ? 'the server as a whole' : `the service ${JSON.stringify(service)}`;
    const check = {
      method: '/grpc.health.v1.Health/Check',
      message: service === '' ? new Uint8Array(0) : encodeText(1, service),
      judge(message: Uint8Array) {
        const status = decodeFields(message).get(1) ?? 0;
        return { healthy: status === 1, says: `says ${STATUSES[Number(status)] ?? `status ${status}`} of ${named}` };
      },
      explain: { NOT_FOUND: `does not know ${named}`, UNIMPLEMENTED: 'has no grpc.health.v1' },
    };
    return grpcLine('grpc', check, over, tools);
  },
};
