import type { DeviceReport } from '@rollcall/common/report.ts';
import { plainText } from './attribute-text.ts';
import type { HostFiles } from './host-files.ts';

/** What is reported about an accelerator besides its ids and its driver. */
export type DeviceLocation = Pick<DeviceReport, 'address' | 'numaNode' | 'iommuGroup' | 'nodes'>;

/** A USB device has its classes below its interfaces. */
const DEPTH_MAX = 3;
const DIRECTORIES_MAX = 128;
const NODES_MAX = 16;

/** `dri/card0`: below `/dev`, as the kernel names them. */
const DEVICE_NODE = /^(?=.{1,255}$)\w[\w.:@-]*(\/\w[\w.:@-]*)*$/;

/** The driver that is bound to the device in a directory of sysfs; `undefined` while none is. */
export function boundDriver(files: HostFiles, directory: string): string | undefined {
  return lastName(files.link(`${directory}/driver`));
}

/** Returns the location of the device in a directory of sysfs, and its files in `/dev`, as far as the kernel shows them. */
export function placeOf(files: HostFiles, directory: string, name: string): DeviceLocation {
  const numa = files.text(`${directory}/numa_node`)?.trim() ?? '';
  const iommuGroup = lastName(files.link(`${directory}/iommu_group`)) ?? '';
  const nodes = deviceNodes(files, directory);
  return {
    ...addressed(name),
    // -1: the firmware does not say.
    ...(/^\d{1,5}$/.test(numa) ? { numaNode: Number(numa) } : {}),
    ...(/^\d{1,9}$/.test(iommuGroup) ? { iommuGroup } : {}),
    ...(nodes.length > 0 ? { nodes } : {}),
  };
}

/** The address alone. */
export function addressed(name: string): DeviceLocation {
  const address = plainText(name);
  return address === undefined ? {} : { address };
}

/**
 * Names of device nodes, relative to `/dev`: the node of the device itself, and the nodes of the class devices below
 * it. A class device is in a directory of the name of its class. Devices of a bus that hang on this one, as behind a
 * bridge or a hub, have nodes of their own: they have a `subsystem` that is a bus, and are passed over, but for
 * interfaces on USB.
 */
function deviceNodes(files: HostFiles, device: string): string[] {
  const nodes = new Set<string>();
  let left = DIRECTORIES_MAX;
  const visit = (directory: string, depth: number) => {
    const node = /^DEVNAME=(.+)$/m.exec(files.text(`${directory}/uevent`) ?? '')?.[1];
    if (node !== undefined && DEVICE_NODE.test(node) && nodes.size < NODES_MAX) nodes.add(node);
    if (depth >= DEPTH_MAX) return;
    for (const child of files.directories(directory)) {
      left -= 1;
      if (left < 0) return;
      if (!isOtherDevice(files.link(`${directory}/${child}/subsystem`) ?? '', child))
        visit(`${directory}/${child}`, depth + 1);
    }
  };
  visit(device, 0);
  return [...nodes].sort();
}

/** `1-2:1.0` is part of the USB device `1-2`, and `1-2.4` is another one behind it. */
function isOtherDevice(subsystem: string, name: string): boolean {
  return /\/bus\/[^/]+$/.test(subsystem) && !(subsystem.endsWith('/usb') && name.includes(':'));
}

/** The last part of a path, if it is text that a report may hold. */
function lastName(path: string | undefined): string | undefined {
  return plainText(path?.slice(path.lastIndexOf('/') + 1));
}
