import type { DeviceBus, DeviceReport } from '@rollcall/common/report.ts';
import type { HostFiles } from './host-files.ts';

/** What one reading of a bus found. The same object as before means that nothing changed. */
export type DevicesRead = {
  devices: readonly DeviceReport[];
  /** Something is just being set up, by the kernel or by the writer of the files: worth another scan at once. */
  settling: boolean;
  /** How many devices are there, at least, that could not be read. */
  leftOut: number;
};

/** `absent`: the machine has no such bus, which is no failure. */
export type BusReading = DevicesRead | 'absent';

/** Numbers of devices. */
export type Compared = { turn: number; urgent: number };

/** The machine that a collector reads. */
export type BusHost = {
  sysfsRoot: string;
  procfsRoot: string;
  files: HostFiles;
  /** Whether a device has more fields than its ids. */
  isAccelerator: (device: DeviceReport) => boolean;
  /** Names of nodes of the device tree that count besides the root, `cpu` and `gpu`. */
  deviceTreeNodes?: readonly string[];
  /** To be called when something became known between two readings. */
  onLateNews: () => void;
  /** How many devices that take turns each reading compares with what they were, and how many urgent ones. */
  compared?: Compared;
};

/** Seconds from one scan of the buses to the next: what is plugged is reported within two. */
export const SCAN_SECONDS = 1.6;

export type BusCollector = {
  bus: DeviceBus;
  /** The kernel counts an event for whatever changes on this bus (`kernelEvents`). */
  readonly hasEvents?: true;
  /** How long a reading is good for, in milliseconds; 0: every scan reads anew. */
  readonly validMs: number;
  /** Throws when the bus is there, or may be there, and cannot be read. */
  read(): BusReading;
  /** Whether something about the devices of the last reading is still being read, outside of the event loop. */
  isLate?: () => boolean;
};
