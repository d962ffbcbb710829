import { addressed, boundDriver, type DeviceLocation, placeOf } from '../device-place.ts';
import type { HostFiles } from '../host-files.ts';
import type { AcceleratorNode } from './tree-walk.ts';

/** A node with what the kernel has made of it. */
export type OnChip = AcceleratorNode & {
  /** In sysfs; `undefined` where the kernel has made no device of the node. */
  directory: string | undefined;
  driver: string | undefined;
  childCount: number | undefined;
  place: DeviceLocation;
};

const DEVICES_MAX = 4096;
const TREE = '/devicetree/base';

/** The devices that the kernel makes of nodes of the device tree: `/sys/bus/platform/devices/*`, with a link `of_node`. */
export class PlatformDevices {
  readonly #files: HostFiles;
  readonly #root: string;
  #byPath: ReadonlyMap<string, string> = new Map();

  constructor(files: HostFiles, sysfsRoot: string) {
    this.#files = files;
    this.#root = `${sysfsRoot}/bus/platform/devices`;
  }

  /** Finds out which there are. */
  list(): void {
    const byPath = new Map<string, string>();
    for (const name of (this.#files.list(this.#root) ?? []).slice(0, DEVICES_MAX)) {
      const target = this.#files.link(`${this.#root}/${name}/of_node`) ?? '';
      const at = target.indexOf(TREE);
      if (at >= 0) byPath.set(target.slice(at + TREE.length) || '/', `${this.#root}/${name}`);
    }
    this.#byPath = byPath;
  }

  read(node: AcceleratorNode): OnChip {
    const directory = this.#byPath.get(node.path);
    if (directory === undefined)
      return { ...node, directory, driver: undefined, childCount: undefined, place: addressed(node.path) };
    return {
      ...node,
      directory,
      driver: boundDriver(this.#files, directory),
      childCount: this.#files.childCount(directory),
      place: placeOf(this.#files, directory, node.path),
    };
  }

  readonly isAsBefore = ({ path, directory, driver, childCount }: OnChip): boolean => {
    if (directory === undefined) return !this.#byPath.has(path);
    return boundDriver(this.#files, directory) === driver && this.#files.childCount(directory) === childCount;
  };
}
