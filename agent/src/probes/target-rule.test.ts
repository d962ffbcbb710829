import { describe, expect, it } from 'vitest';
import { type AddressRules, refusalOf } from './target-rule.ts';

const ON_HOST: AddressRules = { hostIp: '10.0.0.7', ownAddresses: ['127.0.0.1', '10.0.0.7', '::1'], ownPort: 8086 };
const IN_POD: AddressRules = { hostIp: '10.0.0.7', ownAddresses: ['127.0.0.1', '10.1.2.3'], ownPort: 8086 };
const PODS = ['10.1.9.9', 'fd00:0:0::9'];

describe('refusalOf', () => {
  it.each([
    ['the node', '10.0.0.7'],
    ['a pod of the service', '10.1.9.9'],
    ['a pod, however its address is written', 'fd00::9'],
    ['a pod, by IPv4 in IPv6', '::ffff:10.1.9.9'],
  ])('lets %s be probed', (_, host) => {
    expect(refusalOf({ host, port: 80 }, PODS, ON_HOST)).toBeUndefined();
    expect(refusalOf({ host, port: 80 }, PODS, IN_POD)).toBeUndefined();
  });

  it.each([
    ['169.254.169.254', /link-local/],
    ['::ffff:169.254.169.254', /link-local/],
    ['fe80::1', /link-local/],
    ['224.0.0.1', /multicast/],
    ['255.255.255.255', /multicast/],
    ['ff02::1', /multicast/],
    ['0.0.0.0', /unspecified/],
    ['::', /unspecified/],
    ['10.0.0.8', /neither to this node/],
    ['localhost.localdomain', /not an address/],
    ['metadata.google.internal', /not an address/],
  ])('refuses %s, also as the address of a pod', (host, reason) => {
    const told = /neither/.test(reason.source) ? PODS : [...PODS, host];
    expect(refusalOf({ host, port: 80 }, told, ON_HOST)).toMatch(reason);
  });

  it.each([
    ['0.255.255.255', '1.0.0.0'],
    ['169.254.0.0', '169.253.255.255'],
    ['169.254.255.255', '169.255.0.0'],
    ['224.0.0.0', '223.255.255.255'],
    ['fe80::', 'fe7f:ffff::'],
    ['febf:ffff::', 'fec0::'],
    ['ff00::', 'feff:ffff::'],
    ['::ffff:ffff', '::1:0:0:0'],
  ])('never lets %s be probed, and %s as the address of a pod', (never, beside) => {
    expect(refusalOf({ host: never, port: 80 }, [never], ON_HOST)).toMatch(/link-local/);
    expect(refusalOf({ host: beside, port: 80 }, [beside], ON_HOST)).toBeUndefined();
  });

  it.each([
    ['Amazon Web Services', 'fd00:ec2::254', 'fd00:ec3::254'],
    ['Amazon Web Services', 'FD00:0EC2:0:0:0:0:0:0023', 'fd00:ec1:ffff::'],
    ['Microsoft Azure', '168.63.129.16', '168.63.129.17'],
    ['Alibaba Cloud', '100.100.100.200', '100.100.100.201'],
    ['Alibaba Cloud', 'fd00:100::100:200', 'fd00:100::100:201'],
    ['Google Cloud', 'fd20:ce::254', 'fd20:ce::255'],
    ['Oracle Cloud', '192.0.0.192', '192.0.0.193'],
    ['Oracle Cloud', 'fd00:c1::a9fe:a9fe', 'fd00:c1::a9fe:a9ff'],
    ['Scaleway', 'fd00:42::42', 'fd00:42::43'],
    ['Akamai Cloud', 'fd00:a9fe:a9fe::1', 'fd00:a9fe:a9fe::2'],
  ])('never lets the metadata service of %s be probed at %s, and lets %s beside it', (owner, metadata, beside) => {
    const reason = `it is an address of the metadata service of ${owner}`;
    for (const place of [ON_HOST, { ...ON_HOST, hostIp: metadata, ownAddresses: [metadata] }]) {
      expect(refusalOf({ host: metadata, port: 80 }, [metadata], place)).toBe(reason);
    }
    expect(refusalOf({ host: beside, port: 80 }, [beside], ON_HOST)).toBeUndefined();
  });

  it.each([
    ['IPv4-mapped', '::ffff:168.63.129.16', /metadata service of Microsoft Azure/],
    ['IPv4-mapped', '::ffff:6464:64c8', /metadata service of Alibaba Cloud/],
    ['IPv4-mapped', '::ffff:a9fe:a9fe', /link-local/],
    ['IPv4-compatible', '::169.254.169.254', /link-local, multicast or unspecified/],
    ['IPv4-translated', '::ffff:0:169.254.169.254', /translates to IPv4/],
    ['NAT64', '64:ff9b::a9fe:a9fe', /translates to IPv4/],
    ['NAT64', '64:ff9b::168.63.129.16', /translates to IPv4/],
    ['local NAT64', '64:ff9b:1::a9fe:a9fe', /translates to IPv4/],
    ['local NAT64', '64:ff9b:1:a9fe:a9:fe00::', /translates to IPv4/],
    ['6to4', '2002:a9fe:a9fe::1', /translates to IPv4/],
    ['Teredo', '2001:0:a9fe:a9fe::1', /translates to IPv4/],
    ['a zone', 'fd00:ec2::254%eth0', /metadata service of Amazon/],
    ['a zone', 'fe80::a9fe:a9fe%eth0', /link-local/],
  ])('never lets an IPv4 address be probed that is hidden in one of IPv6: %s, %s', (_, host, reason) => {
    expect(refusalOf({ host, port: 80 }, [host], ON_HOST)).toMatch(reason);
  });

  it.each([
    ['64:ff9b::', '64:ff9a:ffff::'],
    ['64:ff9b::ffff:ffff', '64:ff9b::1:0:0'],
    ['64:ff9b:1:ffff::', '64:ff9b:2::'],
    ['2002:ffff::', '2003::'],
    ['2001:0:ffff::', '2001:1::'],
  ])('takes no more for a translator than its prefix: %s, and not %s', (never, beside) => {
    expect(refusalOf({ host: never, port: 80 }, [never], ON_HOST)).toMatch(/translates to IPv4/);
    expect(refusalOf({ host: beside, port: 80 }, [beside], ON_HOST)).toBeUndefined();
  });

  it('takes all of 127.0.0.0/8 for loopback, and no more', () => {
    for (const host of ['127.0.0.0', '127.255.255.255', '::ffff:127.0.0.1']) {
      expect(refusalOf({ host, port: 80 }, [host], IN_POD)).toMatch(/not on the network of the host/);
    }
    for (const host of ['126.255.255.255', '128.0.0.0']) {
      expect(refusalOf({ host, port: 80 }, [host], IN_POD)).toBeUndefined();
    }
  });

  it('lets loopback be probed where it is the loopback of the node', () => {
    const target = { host: '127.0.0.1', port: 80 };
    expect(refusalOf(target, [], ON_HOST)).toBeUndefined();
    expect(refusalOf(target, [], { hostIp: '127.0.0.9', ownAddresses: [], ownPort: 8086 })).toBeUndefined();
    expect(refusalOf(target, [], IN_POD)).toMatch(/not on the network of the host/);
    expect(refusalOf({ host: '::1', port: 80 }, [], IN_POD)).toMatch(/not on the network of the host/);
  });

  it('takes localhost for the loopback addresses of both families', () => {
    expect(refusalOf({ host: 'localhost', port: 80 }, [], ON_HOST)).toBeUndefined();
    expect(refusalOf({ host: 'localhost', port: 8086 }, [], ON_HOST)).toMatch(/agent itself/);
    expect(refusalOf({ host: 'localhost', port: 80 }, [], IN_POD)).toMatch(/not on the network of the host/);
  });

  it('refuses the port of the agent itself, and that one only where it is its own', () => {
    expect(refusalOf({ host: '10.0.0.7', port: 8086 }, [], ON_HOST)).toMatch(/agent itself/);
    expect(refusalOf({ host: '127.0.0.1', port: 8086 }, [], ON_HOST)).toMatch(/agent itself/);
    expect(refusalOf({ host: '10.0.0.7', port: 8086 }, [], IN_POD)).toBeUndefined();
  });

  it('passes over what is no address among the addresses of pods', () => {
    expect(refusalOf({ host: '10.1.9.9', port: 80 }, ['', 'pod-1', ...PODS], IN_POD)).toBeUndefined();
    expect(refusalOf({ host: '10.1.9.8', port: 80 }, ['', 'pod-1', ...PODS], IN_POD)).toMatch(/neither/);
  });

  it('takes loopback for the loopback of the node where the node is known by its name', () => {
    expect(refusalOf({ host: '127.0.0.1', port: 80 }, [], { ...IN_POD, hostIp: 'node-1' })).toBeUndefined();
  });

  it('lets a node be known by its name', () => {
    expect(refusalOf({ host: 'node-1', port: 80 }, [], { ...ON_HOST, hostIp: 'node-1' })).toBeUndefined();
  });
});
