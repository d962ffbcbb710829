import { busesOfIdentity, identityOf } from '@rollcall/common/accelerators.ts';
import { isLabelKey, isLabelValue } from '@rollcall/common/label-syntax.ts';
import type { DeviceBus, DeviceReport } from '@rollcall/common/report.ts';
import {
  DEVICE_IDENTITY_PREFIX,
  DEVICE_TREE_PREFIX,
  NFD_PCI_PREFIX,
  NFD_USB_PREFIX,
} from '@rollcall/common/well-known.ts';
import { DEVICE_FIELDS } from '../../model/device-fields.ts';
import type { Inventory } from '../../model/inventory/inventory.ts';
import { driverOf } from '../../model/inventory/tally.ts';

/** Which devices of a bus get a label, and how its name is formed: NFD's configuration of the same names. */
type BusLabels = {
  /** Prefixes of the device class, in hex. */
  deviceClassWhitelist: readonly string[];
  /** Attributes in the name, which come in NFD's order whatever theirs; unknown ones are passed over. */
  deviceLabelFields: readonly string[];
};

/** `labels`: of no device, of known accelerators alone, or of all that the lists of classes name as well. */
export type DeviceGrammar = { labels: 'none' | 'known' | 'all'; pci: BusLabels; usb: BusLabels };

export type DeviceLabel = { value: string; reason: string };

const NFD_PREFIX = { usb: NFD_USB_PREFIX, pci: NFD_PCI_PREFIX } as const;

/** The fields that NFD uses if none is configured. */
const FIELDS_OTHERWISE = { pci: ['class', 'vendor'], usb: ['class', 'vendor', 'device'] } as const;

/** The buses that a label may be there because of; none where the key is no label of a device. */
export function busesOf(key: string): readonly DeviceBus[] {
  if (key.startsWith(NFD_USB_PREFIX)) return ['usb'];
  if (key.startsWith(NFD_PCI_PREFIX)) return ['pci'];
  if (key.startsWith(DEVICE_TREE_PREFIX)) return ['device-tree'];
  if (!key.startsWith(DEVICE_IDENTITY_PREFIX)) return [];
  return busesOfIdentity(key.slice(DEVICE_IDENTITY_PREFIX.length).replace(/\.(count|driver)$/, ''));
}

/**
 * The labels of a node with these devices: NFD's for USB and PCI, k8s-dt-node-labeller's for the device tree, and one for
 * each known accelerator, on whatever bus. What would be no valid label is left out.
 */
export function deviceLabels(devices: readonly DeviceReport[], grammar: DeviceGrammar): Map<string, DeviceLabel> {
  const labels = new Map<string, DeviceLabel>();
  if (grammar.labels === 'none') return labels;
  const isOfAll = grammar.labels === 'all';
  const counts = new Map<string, number>();
  const add = (key: string, value: string, reason: string) => {
    if (!labels.has(key) && isLabelKey(key) && isLabelValue(value)) labels.set(key, { value, reason });
  };
  for (const device of devices) {
    const { bus, attributes } = device;
    const reason = `the agent sees ${nameOf(device)}`;
    const { compatible, count } = attributes;
    if (isOfAll && bus === 'device-tree' && count !== undefined) {
      const key = deviceTreeKey(compatible ?? '');
      const sum = (counts.get(key) ?? 0) + Number(count);
      counts.set(key, sum);
      // Strings that differ in their third part have one label.
      labels.delete(key);
      add(key, String(sum), reason);
    }
    if (isOfAll && (bus === 'usb' || bus === 'pci')) {
      for (const key of nfdKeys(bus, attributes, grammar[bus])) add(key, 'true', reason);
    }
    // Virtual functions do not count: they exist because of the device itself.
    const identity = device.virtual ? undefined : identityOf(device);
    if (identity !== undefined) add(`${DEVICE_IDENTITY_PREFIX}${identity}`, 'true', reason);
  }
  return labels;
}

/** Why no label says that a device is there which the agent sees, if that is so: a clause that names the setting. */
export function leftOutBy(key: string, devices: readonly DeviceReport[], grammar: DeviceGrammar): string | undefined {
  const whole = { deviceClassWhitelist: [''] };
  const all: DeviceGrammar = {
    labels: 'all',
    pci: { ...grammar.pci, ...whole },
    usb: { ...grammar.usb, ...whole },
  };
  const found = devices.find((device) => deviceLabels([device], all).has(key));
  if (!found || deviceLabels([found], grammar).has(key)) return undefined;
  const { bus, attributes } = found;
  const sees = `the agent sees ${nameOf(found)}`;
  if (grammar.labels !== 'all' || (bus !== 'usb' && bus !== 'pci')) {
    return `${sees}, but --hardware-labels=${grammar.labels} leaves its label out`;
  }
  const classes = grammar[bus].deviceClassWhitelist.join(', ') || 'none';
  return `${sees}, but its class ${attributes['class'] ?? ''} is not in --${bus}-device-class-whitelist (${classes})`;
}

/**
 * How many there are of each known accelerator, and the driver of all of them. The agent has to count, and to have read
 * every bus where there may be one more.
 */
export function tallyLabels(
  { devices = new Map(), unread, heldDrivers }: Inventory,
  grammar: Pick<DeviceGrammar, 'labels'>,
): Map<string, DeviceLabel> {
  const labels = new Map<string, DeviceLabel>();
  if (grammar.labels === 'none') return labels;
  for (const [identity, tallied] of devices) {
    if (busesOfIdentity(identity).some((bus) => unread.includes(bus))) continue;
    const { count } = tallied;
    labels.set(countKey(identity), { value: String(count), reason: `the agent sees ${count} of ${identity}` });
    const driver = heldDrivers.has(identity) ? undefined : driverOf(tallied);
    if (driver === undefined) continue;
    labels.set(driverKey(identity), { value: driver, reason: `the agent sees the driver ${driver}` });
  }
  return labels;
}

function countKey(identity: string): string {
  return `${DEVICE_IDENTITY_PREFIX}${identity}.count`;
}

function driverKey(identity: string): string {
  return `${DEVICE_IDENTITY_PREFIX}${identity}.driver`;
}

function nfdKeys(
  bus: 'usb' | 'pci',
  attributes: Readonly<Record<string, string>>,
  { deviceClassWhitelist, deviceLabelFields }: BusLabels,
): string[] {
  const code = attributes['class'] ?? '';
  if (!deviceClassWhitelist.some((prefix) => code.startsWith(prefix.toLowerCase()))) return [];
  const chosen = DEVICE_FIELDS[bus].filter((field) => deviceLabelFields.includes(field));
  const fields = chosen.length > 0 ? chosen : FIELDS_OTHERWISE[bus];
  const name = fields.map((field) => attributes[field] ?? '').join('_');
  const key = `${NFD_PREFIX[bus]}${name}`;
  return [`${key}.present`, ...(attributes['sriov_totalvfs'] === undefined ? [] : [`${key}.sriov.capable`])];
}

/**
 * `xlnx,zynq-7000` is `xilinx-zynq-7000`, and `a,b,c` is `a-b`, as k8s-dt-node-labeller has it: it spells out the short
 * name of this vendor, and leaves out a third part.
 */
function deviceTreeKey(compatible: string): string {
  const [first = '', second] = compatible.split(',');
  if (second === undefined) return `${DEVICE_TREE_PREFIX}${compatible}`;
  return `${DEVICE_TREE_PREFIX}${first === 'xlnx' ? 'xilinx' : first}-${second}`;
}

function nameOf({ bus, attributes }: DeviceReport): string {
  if (bus === 'device-tree') return `${attributes['compatible']} in its device tree`;
  const code = attributes['class'];
  const ids = `${attributes['vendor']}:${attributes['device']}`;
  return `${bus.toUpperCase()} device ${ids}${code === undefined ? '' : ` of class ${code}`}`;
}
