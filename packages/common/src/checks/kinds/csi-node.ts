import { GRACE, type SeenKind, SUBDOMAIN } from '../check-kind.ts';
import { text } from '../schema.ts';

export type CsiNodeSettings = { driver: string; graceMs?: number };

export const csiNode: SeenKind<CsiNodeSettings> = {
  schema: {
    description:
      'Passes if the CSINode of the node lists the driver, and its status.storageHealth (alpha in Kubernetes 1.37) names no problem of the storage of the driver.',
    type: 'object',
    required: ['driver'],
    properties: { driver: text('Name of the CSI driver.', SUBDOMAIN), grace: GRACE },
  },
  voucher: 'none',
  watched: 'csiNodes',
  says: ({ driver }) => `the CSINode lists ${driver}`,
};
