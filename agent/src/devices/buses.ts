import type { DeviceBus } from '@rollcall/common/report.ts';
import { createDeviceTreeCollector } from './device-tree/device-tree-collector.ts';
import { createPciCollector } from './pci/pci-collector.ts';
import type { BusCollector, BusHost } from './types.ts';
import { createUsbCollector } from './usb/usb-collector.ts';

/** The collector of each bus. */
const COLLECTORS: Readonly<Record<DeviceBus, (host: BusHost) => BusCollector>> = {
  usb: createUsbCollector,
  pci: createPciCollector,
  'device-tree': createDeviceTreeCollector,
};

export function openBuses(host: BusHost): BusCollector[] {
  return Object.values(COLLECTORS).map((create) => create(host));
}
