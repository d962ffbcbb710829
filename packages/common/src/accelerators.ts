import data from './accelerators.json' with { type: 'json' };
import type { DeviceReport } from './report.ts';

/** Every device of the vendor (4 hex digits) with one of these PCI classes (4 hex digits each). */
type PciVendorClasses = { vendor: string; classes: readonly string[] };

/** A known accelerator. All its ids are one identity: a device may change its id while it runs, and is still the same. */
export type Accelerator = {
  /** Its identity; also the name of its label and of its rule file. */
  name: string;
  title: string;
  /** Where the ids are from. */
  source: string;
  /** As `vendor:device`, 4 lower-case hex digits each. */
  usb?: readonly string[];
  /** As `vendor:device`, or whole classes of a vendor, for what has no id of its own in the table. */
  pci?: readonly (string | PciVendorClasses)[];
  /** Values of `compatible` in a device tree. */
  deviceTree?: readonly string[];
  /**
   * Names of labels by which NFD shows this accelerator and nothing else, without their domain and `.present`, each with
   * a class that was seen. What follows from `usb` and from the classes in `pci` is not repeated.
   */
  nfd?: readonly string[];
  /** Narrower identities that are kinds of this one. */
  includes?: readonly string[];
  /** Extended resources by which device plugins offer it. */
  resources?: readonly string[];
};

export const ACCELERATORS: readonly Accelerator[] = data;

let byId: ReadonlyMap<string, string> | undefined;

/**
 * The name of the known accelerator that a device is, or `undefined`. An id of its own goes before its vendor and class.
 */
export function identityOf({ bus, attributes }: DeviceReport): string | undefined {
  byId ??= indexed();
  if (bus === 'device-tree') return byId.get(`device-tree ${attributes['compatible']}`);
  const { vendor, device } = attributes;
  const exact = byId.get(`${bus} ${vendor}:${device}`);
  if (exact !== undefined || bus === 'usb') return exact;
  return byId.get(`class ${vendor}:${attributes['class']}`);
}

function indexed(): Map<string, string> {
  const index = new Map<string, string>();
  for (const { name, usb = [], pci = [], deviceTree = [] } of ACCELERATORS) {
    for (const id of usb) index.set(`usb ${id}`, name);
    for (const compatible of deviceTree) index.set(`device-tree ${compatible}`, name);
    for (const entry of pci) {
      if (typeof entry === 'string') index.set(`pci ${entry}`, name);
      else for (const code of entry.classes) index.set(`class ${entry.vendor}:${code}`, name);
    }
  }
  return index;
}
