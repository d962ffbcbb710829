import { BlockList, isIP } from 'node:net';
import type { ProbeTarget } from '@rollcall/common/report.ts';

/** What an agent knows of where it is. */
export type Place = {
  /** Address, or name, of the node. */
  hostIp: string;
  /** Addresses of the network that this process is in. */
  ownAddresses: readonly string[];
  /** Where this process listens itself; NaN where it does not. */
  ownPort: number;
};

const LOOPBACK = rangesOf([
  ['127.0.0.0', 8],
  ['::1', 128],
]);

/** RFC 1122 and 4291: unspecified; RFC 3927 and 4291: link-local; RFC 5771 and 4291: multicast, and what is reserved. */
const NEVER = rangesOf([
  ['0.0.0.0', 8],
  ['::', 128],
  ['169.254.0.0', 16],
  ['fe80::', 10],
  ['224.0.0.0', 3],
  ['ff00::', 8],
]);

/**
 * Why a service is not probed where it is said to be; `undefined` where it may be. An agent that asked any address that
 * it is told would be a way into networks that only nodes can reach, such as the metadata service of a cloud.
 */
export function refusalOf(
  { host, port }: ProbeTarget,
  podAddresses: readonly string[],
  { hostIp, ownAddresses, ownPort }: Place,
): string | undefined {
  if (isIP(host) === 0) return host === hostIp ? undefined : 'it is not an address';
  if (holds(NEVER, host)) return 'it is link-local, multicast or unspecified';
  const isLoopback = holds(LOOPBACK, host);
  if (port === ownPort && (isLoopback || isOneOf(ownAddresses, host))) return 'the agent itself listens there';
  // What is loopback to the agent is that of the node only where they share a network.
  const sharesNetwork = isIP(hostIp) === 0 || holds(LOOPBACK, hostIp) || isOneOf(ownAddresses, hostIp);
  if (isLoopback && !sharesNetwork) return 'it is loopback, and the agent is not on the network of the host';
  if (isLoopback || isOneOf([hostIp, ...podAddresses], host)) return undefined;
  return 'it belongs neither to this node nor to a pod of the service on it';
}

function rangesOf(ranges: readonly (readonly [network: string, bits: number])[]): BlockList {
  const list = new BlockList();
  for (const [network, bits] of ranges) list.addSubnet(network, bits, familyOf(network));
  return list;
}

/** However the addresses are written. */
function isOneOf(addresses: readonly string[], host: string): boolean {
  const list = new BlockList();
  for (const address of addresses) if (isIP(address) !== 0) list.addAddress(address, familyOf(address));
  return holds(list, host);
}

/** An IPv4 address written as IPv6 is what it stands for. */
function holds(list: BlockList, address: string): boolean {
  return list.check(address, familyOf(address));
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIP(address) === 6 ? 'ipv6' : 'ipv4';
}
