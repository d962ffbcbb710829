import type { SeenKind } from '../check-kind.ts';
import { text, validation, whole } from '../schema.ts';

/** Devices by what their bus says: `pci:VENDOR[:DEVICE][@CLASS]` and `usb:VENDOR[:PRODUCT]`, 4 lower-case hex digits each. */
export const DEVICE_ID = 'pci:[0-9a-f]{4}(:[0-9a-f]{4})?(@[0-9a-f]{4})?|usb:[0-9a-f]{4}(:[0-9a-f]{4})?';

export type DeviceSettings = { name: string; minCount: number; driver?: string };

export const device: SeenKind<DeviceSettings> = {
  schema: {
    description:
      'Passes if the agent sees enough accelerators of a kind, or devices with an id, all bound to the driver if one is set.',
    type: 'object',
    required: ['name'],
    properties: {
      name: text(
        'NAME of the label device.rollcall.dev/NAME, or gpu for any GPU; or an id: pci:VENDOR, pci:VENDOR:DEVICE, either with @CLASS, usb:VENDOR or usb:VENDOR:PRODUCT.',
        {
          maxLength: 63,
          'x-kubernetes-validations': [
            validation<string>(
              `self.matches('^([a-z0-9]([-a-z0-9]*[a-z0-9])?|${DEVICE_ID})$')`,
              'device.name is the NAME of a label device.rollcall.dev/NAME, or an id with 4 lower-case hex digits each, such as pci:15b3:101e@0200 or usb:1a6e:089a',
              (name) => new RegExp(`^([a-z0-9]([-a-z0-9]*[a-z0-9])?|${DEVICE_ID})$`).test(name),
            ),
          ],
        },
      ),
      minCount: whole('Number of them that must be there.', 1, 1024, { default: 1 }),
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
