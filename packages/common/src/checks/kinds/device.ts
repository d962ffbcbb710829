import type { SeenKind } from '../check-kind.ts';
import { text, whole } from '../schema.ts';

export type DeviceSettings = { name: string; minCount: number; driver?: string };

export const device: SeenKind<DeviceSettings> = {
  schema: {
    description: 'Passes if the agent sees enough accelerators of a kind, with the driver if one is set.',
    type: 'object',
    required: ['name'],
    properties: {
      name: text('NAME of the label device.rollcall.dev/NAME, or gpu for any GPU.', {
        maxLength: 63,
        pattern: '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$',
      }),
      minCount: whole('Number of accelerators that must be there.', 1, 1024, { default: 1 }),
      driver: text('Kernel driver that must be bound to all of them.', {
        maxLength: 63,
        pattern: '^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$',
      }),
    },
  },
  voucher: 'agent',
  says: ({ name, minCount, driver }) =>
    `the agent sees ${name} >= ${minCount}${driver === undefined ? '' : ` with the driver ${driver}`}`,
};
