import type { CsiSettings } from '@rollcall/common/checks/kinds/grpc.ts';
import { type GrpcCheck, grpcLine } from './grpc-check.ts';
import { decodeFields } from './protobuf.ts';
import type { ProbeKind } from './types.ts';

/**
 * `Probe` of csi.v1.Identity: `ready` is a BoolValue, which is a message with the value in its first field. Without it
 * the driver is ready (https://github.com/container-storage-interface/spec/blob/master/spec.md#probe).
 */
const CSI_CHECK: GrpcCheck = {
  method: '/csi.v1.Identity/Probe',
  message: new Uint8Array(0),
  judge(message) {
    const ready = decodeFields(message).get(1);
    if (ready === undefined) return { healthy: true, says: 'says that it is ready' };
    if (typeof ready === 'number') return { healthy: false, says: 'answered with a message that cannot be read' };
    const isReady = (decodeFields(ready).get(1) ?? 0) !== 0;
    return { healthy: isReady, says: isReady ? 'says that it is ready' : 'says that it is not ready' };
  },
  explain: { FAILED_PRECONDITION: 'says that it is not healthy', UNIMPLEMENTED: 'has no csi.v1.Identity' },
};

/** Healthy when the CSI driver behind a `socket` reports that it is ready. */
export const csi: ProbeKind<CsiSettings> = {
  kind: 'csi',
  pathOf: ({ socket }) => socket,
  prepare: (settings, tools) => grpcLine('csi', CSI_CHECK, settings, tools),
};
