import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { canonicalJson, contentDigest } from './digest.ts';

/** The same value with the keys of every object in another order. */
function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed);
  if (value === null || typeof value !== 'object') return value;
  const entries = Object.entries(value).map(([key, inner]) => [key, reversed(inner)] as const);
  return Object.fromEntries(entries.toReversed());
}

describe('canonicalJson', () => {
  test('does not depend on the order of keys, at any depth', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(canonicalJson(reversed(value))).toBe(canonicalJson(value));
      }),
    );
  });

  test('loses nothing: what is read back is what was written', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = JSON.stringify(value);
        expect(JSON.parse(canonicalJson(JSON.parse(text)))).toEqual(JSON.parse(text));
      }),
    );
  });

  test('keeps the order of lists', () => {
    expect(canonicalJson({ b: [2, 1], a: { d: 1, c: null } })).toBe('{"a":{"c":null,"d":1},"b":[2,1]}');
  });
});

describe('contentDigest', () => {
  const service = { name: 'ws-daemon', ready: true, since: '2026-01-01T00:00:00.000Z', evidence: 'e', digest: 'c' };
  const content = { services: [service], devices: [], facts: { a: '1', b: '2' } };

  test('is the SHA-256, in hex, that both ends of the wire must agree on', () => {
    expect(contentDigest(content)).toBe('94338e9110c7424f36cb57fdd474fa2136f282db02bad18e9db46dfb25857c2c');
  });

  test('does not look at what is not content, nor at the order of keys', () => {
    const { facts, devices, services } = content;
    const more = { sequence: 7, facts: { b: '2', a: '1' }, devices, services };
    expect(contentDigest(more)).toBe(contentDigest({ services, devices, facts }));
  });

  test('changes with every part of the content', () => {
    const device = { bus: 'usb' as const, attributes: { vendor: '1a6e' } };
    const digests = [
      content,
      { ...content, services: [{ ...service, ready: false }] },
      { ...content, devices: [device] },
      { ...content, devices: [{ ...device, attributes: { vendor: '18d1' } }] },
      { ...content, facts: {} },
      { ...content, unread: ['pci' as const] },
      { ...content, answers: { 'module:apex': true } },
      { ...content, answers: { 'module:apex': false } },
      { ...content, values: { x: '1' } },
      { ...content, version: '1' },
    ].map(contentDigest);
    expect(new Set(digests).size).toBe(digests.length);
  });
});
