import { AT_PORT, PERIOD_MS, type ProbeKind } from '../check-kind.ts';

const atPort = (description: string): ProbeKind => ({
  schema: { description, type: 'object', required: ['port'], properties: AT_PORT },
  voucher: 'agent',
  periodMs: PERIOD_MS,
});

export const tcp = atPort('Healthy if the service accepts a connection.');
export const tls = atPort('Healthy if the service accepts a connection and begins a TLS handshake.');
export const http2 = atPort('Healthy if the service accepts a connection and sends HTTP/2 SETTINGS.');
