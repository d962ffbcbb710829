import type { ProbeKind } from '../check-kind.ts';
import { text } from '../schema.ts';

/** All nodes ask the same servers. */
const PERIOD_MS = 10_000;

export type DnsSettings = { name?: string };

export const dns: ProbeKind<DnsSettings> = {
  schema: {
    description:
      'Passes if a name has an address in DNS, as for any pod of the node. Agents on the network of the host cannot tell. The default period is 10s.',
    type: 'object',
    properties: {
      name: text('Name to resolve. Defaults to kubernetes.default.svc.', {
        maxLength: 253,
        // RFC 1123, section 2.1; a dot at the end means the root.
        pattern: '^[A-Za-z0-9_]([-A-Za-z0-9_]*[A-Za-z0-9_])?([.][A-Za-z0-9_]([-A-Za-z0-9_]*[A-Za-z0-9_])?)*[.]?$',
      }),
    },
  },
  voucher: 'agent',
  periodMs: PERIOD_MS,
  isOfCluster: true,
};

export const kubernetesService: ProbeKind = {
  schema: {
    description:
      'Passes if the API server answers a TLS handshake at the address of its Service, as for any pod of the node. Agents on the network of the host cannot tell. The default period is 10s.',
    type: 'object',
  },
  voucher: 'agent',
  periodMs: PERIOD_MS,
  isOfCluster: true,
};
