import { BlockList, isIP } from 'node:net';
import type { ProbeTarget } from '@rollcall/common/report.ts';
import { LOOPBACK_HOST } from './loopback-line.ts';
import type { ProbeAddress } from './types.ts';

/** What an agent knows of where it is. */
export type AddressRules = {
  /** Address, or name, of the node. */
  hostIp: string;
  /** Addresses of the network that this process is in. */
  ownAddresses: readonly string[];
  /** The port on which this process listens itself; NaN if it does not. */
  ownPort: number;
  /** The Service of the API server, as the kubelet tells every pod; absent where it does not. */
  apiServer?: ProbeTarget | undefined;
};

const LOOPBACK = rangesOf([
  ['127.0.0.0', 8],
  ['::1', 128],
]);

/** Addresses that are always refused, even as an address of the node or of a pod: network, bits, and what it is. */
const NEVER: readonly (readonly [network: string, bits: number, what: string])[] = [
  // RFC 1122 and 4291: unspecified; RFC 3927 and 4291: link-local; RFC 5771 and 4291: multicast, and what is reserved.
  // ::/96 was for IPv4 addresses written as IPv6 (RFC 4291, section 2.5.5.1).
  ...['0.0.0.0/8', '::/96', '169.254.0.0/16', 'fe80::/10', '224.0.0.0/3', 'ff00::/8'].map((range) => {
    const [network = '', bits] = range.split('/');
    return [network, Number(bits), 'link-local, multicast or unspecified'] as const;
  }),
  ['fd00:ec2::', 32, metadataOf('Amazon Web Services')],
  ['168.63.129.16', 32, metadataOf('Microsoft Azure')],
  ['100.100.100.200', 32, metadataOf('Alibaba Cloud')],
  ['fd00:100::100:200', 128, metadataOf('Alibaba Cloud')],
  ['fd20:ce::254', 128, metadataOf('Google Cloud')],
  ['192.0.0.192', 32, metadataOf('Oracle Cloud')],
  ['fd00:c1::a9fe:a9fe', 128, metadataOf('Oracle Cloud')],
  ['fd00:42::42', 128, metadataOf('Scaleway')],
  ['fd00:a9fe:a9fe::1', 128, metadataOf('Akamai Cloud')],
  // Behind these stands any IPv4 address, those above included; no node and no pod has one of them.
  ['64:ff9b::', 96, 'an address that translates to IPv4 (NAT64, RFC 6052)'],
  ['64:ff9b:1::', 48, 'an address that translates to IPv4 (NAT64, RFC 8215)'],
  ['::ffff:0:0:0', 96, 'an address that translates to IPv4 (SIIT, RFC 2765)'],
  ['2002::', 16, 'an address that translates to IPv4 (6to4, RFC 3056)'],
  ['2001::', 32, 'an address that translates to IPv4 (Teredo, RFC 4380)'],
];

const NEVER_BY_RANGE = NEVER.map(([network, bits, what]) => ({ range: rangesOf([[network, bits]]), what }));

/**
 * Why a service is not probed where it is said to be; `undefined` where it may be. An agent that asked any address that
 * it is told would be a way into networks that only nodes can reach, such as the metadata service of a cloud.
 */
export function refusalOf(
  { host, port }: ProbeTarget,
  podAddresses: readonly string[],
  { hostIp, ownAddresses, ownPort }: AddressRules,
): string | undefined {
  if (isIP(host) === 0 && host !== LOOPBACK_HOST) return host === hostIp ? undefined : 'it is not an address';
  const isLoopback = host === LOOPBACK_HOST || holds(LOOPBACK, host);
  const never = isLoopback ? undefined : NEVER_BY_RANGE.find(({ range }) => holds(range, host));
  if (never) return `it is ${never.what}`;
  if (port === ownPort && (isLoopback || isOneOf(ownAddresses, host))) return 'the agent itself listens there';
  // Loopback leads to the node only where the agent is on the network of the host.
  if (isLoopback && !isOnHostNetwork({ hostIp, ownAddresses }))
    return 'it is loopback, and the agent is not on the network of the host';
  if (isLoopback || isOneOf([hostIp, ...podAddresses], host)) return undefined;
  return 'it belongs neither to this node nor to a pod of the service on it';
}

/** Whether this process is on the network of its node; taken for granted where the address of the node is a name. */
function isOnHostNetwork({ hostIp, ownAddresses }: Pick<AddressRules, 'hostIp' | 'ownAddresses'>): boolean {
  return isIP(hostIp) === 0 || holds(LOOPBACK, hostIp) || isOneOf(ownAddresses, hostIp);
}

/** An address that means the same for every pod, or why this agent cannot ask there in their place. */
export function inPodNetwork(rules: AddressRules, address: ProbeAddress | string): ProbeAddress | string {
  if (!isOnHostNetwork(rules)) return address;
  return 'the agent is on the network of the host, and cannot tell what pods reach: run agents in the pod network (agent.hostNetwork=false)';
}

function metadataOf(cloud: string): string {
  return `an address of the metadata service of ${cloud}`;
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
