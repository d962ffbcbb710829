import { GRACE, QUALIFIED_NAME, type SeenKind, SUBDOMAIN } from '../check-kind.ts';
import { text, whole } from '../schema.ts';

export type ResourceSettings = { name: string; min: number; graceMs?: number };

export const resource: SeenKind<ResourceSettings> = {
  schema: {
    description: 'Passes if the node has enough of a resource allocatable.',
    type: 'object',
    required: ['name'],
    properties: {
      name: text('Name of the resource, such as nvidia.com/gpu.', QUALIFIED_NAME),
      min: whole('Amount that must be allocatable.', 1, 2_147_483_647, { default: 1 }),
      grace: GRACE,
    },
  },
  voucher: 'none',
  watched: 'nodes',
  says: ({ name, min }) => `the node has ${name} >= ${min} allocatable`,
};

export type DraSettings = { driver: string; min: number; graceMs?: number };

export const dra: SeenKind<DraSettings> = {
  schema: {
    description:
      'Passes if ResourceSlices that reach the node, by nodeName, nodeSelector or allNodes, have enough devices of a DRA driver that no taint with the effect NoSchedule or NoExecute keeps away. ' +
      'Devices that share counters, such as a GPU and its partitions, count as many as can be allocated at once.',
    type: 'object',
    required: ['driver'],
    properties: {
      driver: text('Name of the DRA driver.', SUBDOMAIN),
      min: whole('Number of devices that must be there.', 1, 2_147_483_647, { default: 1 }),
      grace: GRACE,
    },
  },
  voucher: 'none',
  watched: 'resourceSlices',
  says: ({ driver, min }) => `ResourceSlices of the node have ${driver} >= ${min} devices`,
};
