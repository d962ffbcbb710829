import type { DeviceReport } from '@rollcall/common/report.ts';
import { addressed } from '../device-place.ts';
import { type BusCollector, type BusHost, type BusReading, type DevicesRead, SCAN_SECONDS } from '../types.ts';
import { compatibleDevices } from './compatible.ts';
import { type OnChip, PlatformDevices } from './platform-devices.ts';
import { type AcceleratorNode, type TreeWalk, walkTree } from './tree-walk.ts';

/**
 * A tree hardly ever changes while the machine runs, and to walk all of it takes a small board tenths of a second. So all
 * of it is walked once an hour, and what was found is looked at every minute; the drivers of accelerators on the chip, of
 * which there are a handful, in every scan.
 */
const LOOK_SECONDS = 60;
const WALK_SECONDS = 3600;

/**
 * Reads the device tree in procfs, or else in sysfs: the one in procfs is a link to `/sys/firmware/devicetree/base`, which
 * leads nowhere where the sysfs of the machine is mounted elsewhere. Nodes are directories, properties are files.
 */
export function createDeviceTreeCollector({
  procfsRoot,
  sysfsRoot,
  files,
  isAccelerator,
  deviceTreeNodes,
}: BusHost): BusCollector {
  const places = [`${procfsRoot}/device-tree`, `${sysfsRoot}/firmware/devicetree/base`];
  const platform = new PlatformDevices(files, sysfsRoot);
  let walk: TreeWalk | undefined;
  let reading: DevicesRead | undefined;
  let onChip: readonly OnChip[] = [];
  let sinceLook = 0;
  let sinceWalk = 0;

  /** Walks the tree where that is due, and returns whether something else was found than before. */
  function walkIfDue(root: string): boolean {
    const isDue = !walk || sinceWalk >= WALK_SECONDS || walk.signatureNow() !== walk.signature;
    if (!isDue) return false;
    const isKnown = (node: AcceleratorNode) =>
      isAccelerator(reportOf({ ...node, driver: undefined, place: addressed(node.path) }));
    const next = walkTree(files, root, isKnown, deviceTreeNodes);
    sinceWalk = 0;
    platform.list();
    if (walk && next.signature === walk.signature && next.leftOut === walk.leftOut) return false;
    walk = next;
    return true;
  }

  function readTree(): BusReading {
    const root = places.find((place) => files.list(place) !== undefined);
    if (root === undefined) {
      const missing = [procfsRoot, sysfsRoot].find((place) => files.list(place) === undefined);
      if (missing !== undefined) throw new Error(`there is nothing at ${missing}`);
      walk = undefined;
      onChip = [];
      reading = undefined;
      return 'absent';
    }
    const isNew = walkIfDue(root);
    if (onChip.some(({ directory }) => directory === undefined)) platform.list();
    return isNew || !reading || !onChip.every(platform.isAsBefore) ? readDrivers() : reading;
  }

  /** The same reading while no driver is another. */
  function readDrivers(): DevicesRead {
    const { counted = [], accelerators = [], leftOut = 0 } = walk ?? {};
    onChip = accelerators.map((node) => platform.read(node));
    const devices = [...compatibleDevices(counted), ...onChip.map(reportOf)];
    reading = { devices, settling: false, leftOut };
    return reading;
  }

  return {
    bus: 'device-tree',
    get validMs() {
      return onChip.length > 0 ? 0 : LOOK_SECONDS * 1000;
    },
    read() {
      const elapsed = onChip.length > 0 ? SCAN_SECONDS : LOOK_SECONDS;
      sinceLook += elapsed;
      sinceWalk += elapsed;
      if (reading && sinceLook < LOOK_SECONDS) return onChip.every(platform.isAsBefore) ? reading : readDrivers();
      sinceLook = 0;
      return readTree();
    },
  };
}

function reportOf({
  compatible,
  name,
  driver,
  place,
}: AcceleratorNode & Pick<OnChip, 'driver' | 'place'>): DeviceReport {
  return {
    bus: 'device-tree',
    attributes: { compatible, node: name },
    count: 1,
    ...(driver === undefined ? {} : { driver }),
    ...place,
  };
}
