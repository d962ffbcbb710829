import type { DeviceReport } from '@rollcall/common/report.ts';
import type { Compared, DevicesRead } from './types.ts';

/** Far above what any machine has, virtual functions included. */
const NAMES_MAX = 4096;
/**
 * How many known devices one scan compares with what they were, and how many urgent ones besides. Beyond that they take
 * turns, which keeps a scan cheap.
 */
export const COMPARED_MAX = 64;
/** How often a device may differ from one read to the next until it is no longer worth hurrying. */
const HURRIED_READS_MAX = 10;

export type DeviceReader = {
  /** Changes when the device under this name does; `undefined` when there is no device. To be cheap. */
  signature(name: string): string | undefined;
  /** `undefined` while not all that makes a device can be read. */
  read(name: string): readonly DeviceReport[] | undefined;
  /** Whether a device is one that does not wait for its turn. */
  isUrgent?: (device: DeviceReport) => boolean;
};

type Entry = {
  signature: string;
  devices: readonly DeviceReport[] | undefined;
  /** Two reads in a row saw the same. Attributes and interfaces may come a moment after the device. */
  stable: boolean;
  reads: number;
  urgent: boolean;
};

/** Remembers the devices of a bus by name, so that only those that changed are read. */
export class DeviceCache {
  readonly #compared: Compared;
  #entries: ReadonlyMap<string, Entry> = new Map();
  #reading: DevicesRead = { devices: [], settling: false, leftOut: 0 };
  /** The names of the last read, as one text: most of the time they are the same. */
  #listed = '';
  #urgent: readonly string[] = [];
  #turn = 0;

  constructor(compared: Compared = { turn: COMPARED_MAX, urgent: COMPARED_MAX }) {
    this.#compared = compared;
  }

  /** What is there now, by the names of all that is there. */
  refresh(all: readonly string[], reader: DeviceReader): DevicesRead {
    const names = all.length > NAMES_MAX ? all.toSorted().slice(0, NAMES_MAX) : all;
    const listed = names.join('/');
    const isAsBefore = listed === this.#listed && !this.#reading.settling;
    const due = this.#due(names);
    const changed = new Map<string, Entry | undefined>();
    for (const name of isAsBefore ? due : names) {
      const known = this.#entries.get(name);
      if (known && !isHurried(known) && !due.has(name)) continue;
      const entry = compared(name, known, reader);
      if (entry !== known) changed.set(name, entry);
    }
    this.#turn = names.length === 0 ? 0 : (this.#turn + this.#compared.turn) % names.length;
    if (isAsBefore && changed.size === 0) return this.#reading;
    const entries = new Map<string, Entry>();
    for (const name of names) {
      const entry = changed.has(name) ? changed.get(name) : this.#entries.get(name);
      if (entry) entries.set(name, entry);
    }
    if (changed.size > 0 || entries.size !== this.#entries.size)
      this.#reading = summarize(entries, all.length - names.length);
    this.#entries = entries;
    this.#listed = listed;
    this.#urgent = [...entries].filter(([, { urgent }]) => urgent).map(([name]) => name);
    return this.#reading;
  }

  /** Names of known devices that this read compares. */
  #due(names: readonly string[]): ReadonlySet<string> {
    const { turn, urgent } = this.#compared;
    const due = new Set(this.#urgent.slice(0, urgent));
    for (let index = 0; index < Math.min(turn, names.length); index += 1) {
      const name = names[(this.#turn + index) % names.length];
      if (name !== undefined) due.add(name);
    }
    return due;
  }
}

/** Neither stable nor given up. */
function isHurried({ stable, reads }: Entry): boolean {
  return !stable && reads < HURRIED_READS_MAX;
}

function compared(name: string, known: Entry | undefined, reader: DeviceReader): Entry | undefined {
  const signature = reader.signature(name);
  if (signature === undefined) return undefined;
  const isSame = known?.signature === signature;
  if (isSame && known.stable) return known;
  const read = reader.read(name);
  // What changed its identity while it was read may be half of the one and half of the other.
  const devices = reader.signature(name) === signature ? read : undefined;
  const isSameRead = isSame && JSON.stringify(devices) === JSON.stringify(known.devices);
  // Nothing changed about a device that was given up, such as a device that is not authorized.
  if (isSameRead && devices === undefined && !isHurried(known)) return known;
  const stable = isSameRead && devices !== undefined;
  const urgent = devices?.some((device) => reader.isUrgent?.(device)) === true;
  return { signature, devices, stable, reads: isSame ? known.reads + 1 : 1, urgent };
}

function summarize(entries: ReadonlyMap<string, Entry>, notRead: number): DevicesRead {
  const all = [...entries.values()];
  return {
    devices: all.flatMap(({ devices = [] }) => devices),
    settling: all.some(isHurried),
    leftOut: notRead + all.filter(({ devices, reads }) => !devices && reads >= HURRIED_READS_MAX).length,
  };
}
