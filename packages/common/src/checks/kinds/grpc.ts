import { AT_PORT, CA_BUNDLE, type ProbeKind, pathOnNode } from '../check-kind.ts';
import { text, validation, yesOrNo } from '../schema.ts';

type TlsSettings = { tls?: boolean; caBundle?: string };

const OVER_TLS = { tls: yesOrNo('Whether the service speaks TLS. Defaults to clear text.'), caBundle: CA_BUNDLE };
const bundleOfTls = validation(
  '!has(self.caBundle) || (has(self.tls) && self.tls)',
  'caBundle is for a service that speaks TLS: set tls to true, or remove caBundle',
);

export type GrpcSettings = TlsSettings & { socket?: string; service?: string };

export const grpc: ProbeKind<GrpcSettings> = {
  schema: {
    description: 'Passes if grpc.health.v1 returns SERVING.',
    type: 'object',
    properties: {
      ...AT_PORT,
      socket: pathOnNode('socket', 'socket'),
      service: text('Name of the gRPC service to check. Defaults to the server as a whole.', { maxLength: 253 }),
      ...OVER_TLS,
    },
    'x-kubernetes-validations': [
      validation('has(self.port) != has(self.socket)', 'grpc needs either a port or a socket, not both'),
      bundleOfTls,
    ],
  },
  voucher: 'agent',
};

export type CsiSettings = TlsSettings & { socket: string };

export const csi: ProbeKind<CsiSettings> = {
  schema: {
    description: 'Passes if csi.v1.Identity reports the driver as ready.',
    type: 'object',
    required: ['socket'],
    properties: { socket: pathOnNode('socket', 'socket'), ...OVER_TLS },
    'x-kubernetes-validations': [bundleOfTls],
  },
  voucher: 'agent',
};
