import { AT_PORT, PERIOD_MS, type ProbeKind, pathOnNode } from '../check-kind.ts';
import { text, validation } from '../schema.ts';

export type GrpcSettings = { socket?: string; service?: string };

export const grpc: ProbeKind<GrpcSettings> = {
  schema: {
    description: 'Healthy if grpc.health.v1 returns SERVING.',
    type: 'object',
    properties: {
      ...AT_PORT,
      socket: pathOnNode('socket', 'socket'),
      service: text('Name of the gRPC service to check. Defaults to the server as a whole.', { maxLength: 253 }),
    },
    'x-kubernetes-validations': [
      validation('has(self.port) != has(self.socket)', 'grpc needs either a port or a socket, not both'),
    ],
  },
  voucher: 'agent',
  periodMs: PERIOD_MS,
};

export type CsiSettings = { socket: string };

export const csi: ProbeKind<CsiSettings> = {
  schema: {
    description: 'Healthy if csi.v1.Identity reports the driver as ready.',
    type: 'object',
    required: ['socket'],
    properties: { socket: pathOnNode('socket', 'socket') },
  },
  voucher: 'agent',
  periodMs: PERIOD_MS,
};
