import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { buildContent, ContentBuilder, digestContent, fullReport, heartbeat } from './report-builder.ts';

const state = fc.record({
  name: fc.string(),
  ready: fc.boolean(),
  sinceMs: fc.date({ noInvalidDate: true, min: new Date(0) }).map((date) => date.getTime()),
  evidence: fc.string(),
  digest: fc.string(),
});
const STATE = { name: 'a', ready: true, sinceMs: 0, evidence: 'e', digest: 'd' };
const VERSION = '1';
const identity = { node: 'n', boot: 'b', sequence: 7, servicesDigest: undefined, leaving: false };

describe('the content', () => {
  const parts = { devices: [], unread: [], facts: { a: '1' }, answers: {}, values: {} };

  test('is the same object while everything that it is built from is', () => {
    const builder = new ContentBuilder(VERSION);
    const first = builder.build({ ...parts, services: [STATE] });
    expect(builder.build({ ...parts, services: [STATE] })).toBe(first);
    expect(first).toEqual(digestContent(buildContent({ ...parts, services: [STATE] }, VERSION)));
  });

  test.each<[string, Partial<Parameters<typeof buildContent>[0]>]>([
    ['a service', { services: [{ ...STATE, ready: false }] }],
    ['the number of services', { services: [] }],
    ['the devices', { devices: [{ bus: 'pci', attributes: {} }] }],
    ['what is unread', { unread: ['pci'] }],
    ['the facts', { facts: { a: '2' } }],
    ['the answers', { answers: { 'module:apex': true } }],
    ['the values', { values: { 'nfd:local.label.a': '1' } }],
  ])('is another one when %s changed, and again when that is as before', (_name, change) => {
    const builder = new ContentBuilder(VERSION);
    const before = { ...parts, services: [STATE] };
    const first = builder.build(before);
    const changed = builder.build({ ...before, ...change });
    expect(changed.digest).not.toBe(first.digest);
    expect(changed).toEqual(digestContent(buildContent({ ...before, ...change }, VERSION)));
    expect(builder.build(before)).toEqual(first);
  });
});

describe('buildContent', () => {
  test('has the same digest in whatever order the services come', () => {
    const distinct = fc.uniqueArray(state, { selector: ({ name }) => name });
    fc.assert(
      fc.property(distinct, fc.infiniteStream(fc.nat()), (services, order) => {
        const keyed = services.map((service) => ({ service, key: order.next().value ?? 0 }));
        const shuffled = keyed.sort((a, b) => a.key - b.key).map(({ service }) => service);
        const rest = { devices: [], unread: [], facts: {}, answers: {}, values: {} };
        const digest = digestContent(buildContent({ services, ...rest }, VERSION)).digest;
        expect(digestContent(buildContent({ services: shuffled, ...rest }, VERSION)).digest).toBe(digest);
      }),
    );
  });

  test('has another digest when anything about a service changes', () => {
    const digestOf = (changes: object) => {
      const services = [{ ...STATE, ...changes }];
      return digestContent(
        buildContent({ services, devices: [], unread: [], facts: {}, answers: {}, values: {} }, VERSION),
      ).digest;
    };
    const changes = [{ ready: false }, { unknown: true }, { sinceMs: 1 }, { evidence: 'f' }, { digest: 'other' }];
    const digests = [{}, { name: 'b' }, ...changes].map(digestOf);
    expect(new Set(digests).size).toBe(digests.length);
  });

  test('has another digest when it is made by another version', () => {
    const nothing = { services: [], devices: [], unread: [], facts: {}, answers: {}, values: {} };
    const digests = ['1', '2'].map((version) => digestContent(buildContent(nothing, version)).digest);
    expect(new Set(digests).size).toBe(2);
  });

  test('writes times as RFC 3339 in UTC', () => {
    const services = [{ ...STATE, sinceMs: Date.UTC(2026, 1, 3, 4, 5, 6, 7) }];
    const content = buildContent({ services, devices: [], unread: [], facts: {}, answers: {}, values: {} }, VERSION);
    expect(content.services[0]?.since).toBe('2026-02-03T04:05:06.007Z');
  });

  test('has what could not be read, answers and values only where there are some', () => {
    const nothing = { services: [], devices: [], unread: [], facts: {}, answers: {}, values: {} };
    expect(buildContent(nothing, VERSION)).toEqual({ services: [], devices: [], facts: {}, version: VERSION });
    const some = { unread: ['usb'], answers: { 'module:kvm': false }, values: { 'nfd:local.label.a': 'b' } } as const;
    expect(buildContent({ ...nothing, ...some }, VERSION)).toMatchObject(some);
  });

  test('has the services by their names', () => {
    const services = ['b', 'c', 'a'].map((name) => ({ ...STATE, name }));
    const content = buildContent({ services, devices: [], unread: [], facts: {}, answers: {}, values: {} }, VERSION);
    expect(content.services.map(({ name }) => name)).toEqual(['a', 'b', 'c']);
  });
});

describe('a report', () => {
  const report = digestContent({ services: [], devices: [], facts: { cpu: 'x' } });

  test('in full carries the content', () => {
    expect(fullReport(identity, report)).toEqual({
      node: 'n',
      boot: 'b',
      sequence: 7,
      digest: report.digest,
      services: [],
      devices: [],
      facts: { cpu: 'x' },
    });
  });

  test('that is a heartbeat carries the digest alone', () => {
    expect(heartbeat(identity, report)).toEqual({ node: 'n', boot: 'b', sequence: 7, digest: report.digest });
  });

  test('names the list of services that is probed, in full or not, once there is one', () => {
    const served = { ...identity, servicesDigest: 's' };
    expect(fullReport(served, report).servicesDigest).toBe('s');
    expect(heartbeat(served, report).servicesDigest).toBe('s');
    expect('servicesDigest' in heartbeat(identity, report)).toBe(false);
  });

  test('says that the agent leaves only when it does', () => {
    expect(heartbeat({ ...identity, leaving: true }, report).leaving).toBe(true);
    expect('leaving' in heartbeat(identity, report)).toBe(false);
  });
});
