import { AT_PORT, type ProbeKind } from '../check-kind.ts';

const atPort = (description: string): ProbeKind => ({
  schema: { description, type: 'object', required: ['port'], properties: AT_PORT },
  voucher: 'agent',
});

export const tcp = atPort('Passes if the service accepts a connection.');
export const tls = atPort('Passes if the service accepts a connection and begins a TLS handshake.');
export const http2 = atPort('Passes if the service accepts a connection and sends HTTP/2 SETTINGS.');
