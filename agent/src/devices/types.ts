import type { DeviceBus, DeviceReport } from '@rollcall/common/report.ts';

/** What one reading of a bus found. The same object as before means that nothing changed. */
export type DevicesRead = {
  devices: readonly DeviceReport[];
  /** Something is just being set up, by the kernel or by whoever writes the files: worth another look at once. */
  settling: boolean;
  /** How many devices are there, at least, that could not be read. */
  leftOut: number;
};

/** `absent`: the machine has no such bus, which is no failure. */
export type BusReading = DevicesRead | 'absent';

export type BusCollector = {
  bus: DeviceBus;
  /** How long a reading is good for, in milliseconds; 0: every scan reads anew. */
  validMs: number;
  /** Throws when the bus is there, or may be there, and cannot be read. */
  read(): BusReading;
  /** Whether something about the devices of the last reading is still being read, outside of the event loop. */
  isLate?: () => boolean;
};
