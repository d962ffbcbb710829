import type { DeviceReport } from '@rollcall/common/report.ts';
import { plainText } from '../attribute-text.ts';
import { FILE_BYTES_MAX } from '../host-files.ts';

/**
 * The nodes that k8s-dt-node-labeller counts besides the root: `cpu`, `cpu@0`, `gpu@38000000`, `cpu3@300`, and the same
 * for further names (its `-n`).
 */
export function isCounted(nodeName: string, further: readonly string[] = []): boolean {
  const [name = ''] = nodeName.split('@', 1);
  return ['cpu', 'gpu', ...further].some(
    (each) =>
      nodeName === each || (nodeName.includes('@') && name.startsWith(each) && /^\d*$/.test(name.slice(each.length))),
  );
}

/** The strings of a property `compatible`, each of which ends with NUL. A last one that was cut off is left out. */
export function parseCompatible(property: string): string[] {
  const parts = property.split('\0');
  if (property.length >= FILE_BYTES_MAX) parts.pop();
  return parts.map(plainText).filter((text) => text !== undefined);
}

/** One device for each string, with how often it stands in the tree. */
export function compatibleDevices(strings: readonly string[]): DeviceReport[] {
  const counts = new Map<string, number>();
  for (const compatible of strings) counts.set(compatible, (counts.get(compatible) ?? 0) + 1);
  return [...counts].map(([compatible, count]) => ({
    bus: 'device-tree',
    attributes: { compatible, count: String(count) },
    count,
  }));
}
