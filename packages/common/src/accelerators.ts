import data from './accelerators.json' with { type: 'json' };
import { DEVICE_BUSES, type DeviceBus, type DeviceReport } from './report.ts';

/** Every device of the vendor (4 hex digits) with one of these PCI classes (4 hex digits each). */
type PciVendorClasses = { vendor: string; classes: readonly string[] };

/** A node of a device tree whose `compatible` alone says too little; `node` is its name without the address. */
type NamedNode = { compatible: string; node: string };

/** A known accelerator. All its ids are one identity: a device may change its id while it runs, and is still the same. */
export type Accelerator = {
  /** Its identity; also the name of its label and of its rule file. */
  name: string;
  title: string;
  /** The source of the ids. */
  source: string;
  /** As `vendor:device`, or whole classes of a vendor, for what has no id of its own in the table. */
  pci?: readonly (string | PciVendorClasses)[];
  /** Values of `compatible` of boards that have one. */
  deviceTree?: readonly string[];
  /** Values of `compatible` of the accelerator itself, anywhere in a device tree, where it is switched on. */
  onChip?: readonly (string | NamedNode)[];
  /**
   * Names of labels by which NFD shows this accelerator and nothing else, without their domain and `.present`, each with
   * a class that was seen. What follows from `usb` and from the classes in `pci` is not repeated.
   */
  nfd?: readonly string[];
  /** Narrower identities that are kinds of this one, which may have no ids of its own. */
  includes?: readonly string[];
  /** Extended resources by which device plugins offer it. */
  resources?: readonly string[];
} & IdsByBus;

/** As `vendor:device`, 4 lower-case hex digits each on USB; on any other bus in its own words. */
type IdsByBus = { [Bus in Exclude<DeviceBus, 'pci' | 'device-tree'>]?: readonly string[] };

export const ACCELERATORS: readonly Accelerator[] = data;

/** An identity with all that are kinds of it. */
export function identitiesIn(name: string): readonly string[] {
  const found = ACCELERATORS.find((accelerator) => accelerator.name === name);
  return found ? [name, ...(found.includes ?? [])] : [];
}

/** The buses on which there may be one of an identity; all of them for what is not in the table. */
export function busesOfIdentity(name: string): readonly DeviceBus[] {
  const found = ACCELERATORS.find((accelerator) => accelerator.name === name);
  if (!found) return DEVICE_BUSES;
  const { pci, deviceTree, onChip, ...others } = found;
  const isOn = { ...others, pci, 'device-tree': deviceTree ?? onChip };
  return DEVICE_BUSES.filter((bus) => isOn[bus] !== undefined);
}

let byId: ReadonlyMap<string, string> | undefined;

/**
 * The name of the known accelerator that a device is, or `undefined`. An id of its own goes before its vendor and class. In
 * a device tree, what has an address is a node by itself, anything else what boards and processors are called.
 */
export function identityOf({ bus, attributes, address }: DeviceReport): string | undefined {
  byId ??= indexed();
  if (bus === 'device-tree') {
    const { compatible, node } = attributes;
    if (address === undefined) return byId.get(`device-tree ${compatible}`);
    return byId.get(`on-chip ${compatible}`) ?? byId.get(`on-chip ${compatible} ${node}`);
  }
  const { vendor, device } = attributes;
  const exact = byId.get(`${bus} ${vendor}:${device}`);
  if (exact !== undefined || bus !== 'pci') return exact;
  return byId.get(`class ${vendor}:${attributes['class']}`);
}

function indexed(): Map<string, string> {
  const index = new Map<string, string>();
  for (const { name, pci = [], deviceTree = [], onChip = [], ...others } of ACCELERATORS) {
    for (const bus of DEVICE_BUSES) {
      if (bus === 'pci' || bus === 'device-tree') continue;
      for (const id of others[bus] ?? []) index.set(`${bus} ${id}`, name);
    }
    for (const compatible of deviceTree) index.set(`device-tree ${compatible}`, name);
    for (const entry of onChip) {
      index.set(`on-chip ${typeof entry === 'string' ? entry : `${entry.compatible} ${entry.node}`}`, name);
    }
    for (const entry of pci) {
      if (typeof entry === 'string') index.set(`pci ${entry}`, name);
      else for (const code of entry.classes) index.set(`class ${entry.vendor}:${code}`, name);
    }
  }
  return index;
}
