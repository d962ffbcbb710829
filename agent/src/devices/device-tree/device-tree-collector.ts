import type { HostFiles } from '../host-files.ts';
import type { BusCollector, BusReading, DevicesRead } from '../types.ts';
import { compatibleDevices, isCounted, parseCompatible } from './compatible.ts';

const VALID_MS = 60_000;
/**
 * A tree hardly ever changes while the machine runs, and to walk all of it takes a small board a tenth of a second. So
 * in between, only what was found is looked at.
 */
const READINGS_PER_WALK = 60;
/** Boards have some thousand nodes, a handful of levels deep. */
const NODES_MAX = 8192;
const DEPTH_MAX = 16;

type Walk = {
  /** Directories of the nodes that count. */
  nodes: readonly string[];
  /** Changes with what is known of these nodes. */
  signature: string;
  reading: DevicesRead;
};

/**
 * Reads the device tree in procfs, or else in sysfs: the one in procfs is a link to `/sys/firmware/devicetree/base`, which
 * leads nowhere where the sysfs of the machine is mounted elsewhere. Nodes are directories, properties are files.
 */
export function createDeviceTreeCollector(procfsRoot: string, sysfsRoot: string, files: HostFiles): BusCollector {
  const places = [`${procfsRoot}/device-tree`, `${sysfsRoot}/firmware/devicetree/base`];
  let walk: Walk | undefined;
  let readings = 0;
  return {
    bus: 'device-tree',
    validMs: VALID_MS,
    read(): BusReading {
      const root = places.find((place) => files.list(place) !== undefined);
      if (root === undefined) {
        const missing = [procfsRoot, sysfsRoot].find((place) => files.list(place) === undefined);
        if (missing !== undefined) throw new Error(`there is nothing at ${missing}`);
        walk = undefined;
        return 'absent';
      }
      readings += 1;
      if (walk && readings % READINGS_PER_WALK !== 0 && signatureOf(files, root, walk.nodes) === walk.signature) {
        return walk.reading;
      }
      const next = walkTree(files, root);
      if (next.signature !== walk?.signature || next.reading.leftOut !== walk.reading.leftOut) walk = next;
      return walk.reading;
    },
  };
}

function signatureOf(files: HostFiles, root: string, nodes: readonly string[]): string {
  return JSON.stringify([files.list(root), nodes, nodes.map((node) => files.text(`${node}/compatible`))]);
}

function walkTree(files: HostFiles, root: string): Walk {
  const nodes = [root];
  let level = [root];
  let left = NODES_MAX;
  for (let depth = 0; depth < DEPTH_MAX && level.length > 0 && left > 0; depth += 1) {
    const next: string[] = [];
    for (const node of level) {
      if (left <= 0) break;
      const names = files.directories(node);
      left -= names.length;
      next.push(...names.map((name) => `${node}/${name}`));
      nodes.push(...names.filter(isCounted).map((name) => `${node}/${name}`));
    }
    level = next;
  }
  const strings = nodes.flatMap((node) => parseCompatible(files.text(`${node}/compatible`) ?? ''));
  const isCut = left <= 0 || level.length > 0;
  return {
    nodes,
    signature: signatureOf(files, root, nodes),
    reading: { devices: compatibleDevices(strings), settling: false, leftOut: isCut ? 1 : 0 },
  };
}
