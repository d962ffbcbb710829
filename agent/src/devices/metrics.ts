import { Gauge, type Registry } from '@rollcall/common/metrics.ts';
import type { DeviceBus } from '@rollcall/common/report.ts';

export type DeviceMetrics = {
  observeDevices(bus: DeviceBus, counts: { reported: number; leftOut: number }): void;
};

export function registerDeviceMetrics(registry: Registry): DeviceMetrics {
  const registers = [registry];
  const labelNames = ['bus'] as const;
  const reported = new Gauge({
    name: 'rollcall_agent_devices',
    help: 'Entries for devices in the report; equal devices share one entry, which contains their number.',
    labelNames,
    registers,
  });
  const leftOut = new Gauge({
    name: 'rollcall_agent_devices_left_out',
    help: 'Devices that are missing from the report, because their attributes cannot be read or the report is full.',
    labelNames,
    registers,
  });
  return {
    observeDevices(bus, counts) {
      reported.set({ bus }, counts.reported);
      leftOut.set({ bus }, counts.leftOut);
    },
  };
}
