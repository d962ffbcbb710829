import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseReply } from './reply.ts';

function read(services: unknown) {
  const parsed = parseReply(JSON.stringify({ services }));
  return 'reply' in parsed ? parsed.reply.services : parsed;
}

const TCP = { kind: 'tcp' };
const A = { name: 'a', digest: 'd', probe: TCP };
const FULL = {
  name: 'cache',
  digest: 'e',
  probe: { kind: 'http', path: '/x', expectedStatuses: ['200'] },
  target: { host: '10.0.0.1', port: 9000 },
  podAddresses: ['10.0.0.1'],
  periodMilliseconds: 1000,
  timeoutMilliseconds: 500,
  failureThreshold: 2,
  successThreshold: 4,
};

describe('the services of a reply', () => {
  test('are read with all that is known of them, and without what is not', () => {
    expect(read([{ ...FULL, mood: 'good' }, A])).toEqual([FULL, A]);
    expect(read([])).toEqual([]);
  });

  test.each([
    ['probe', { probe: undefined }],
    ['probe', { probe: 'tcp' }],
    ['probe', { probe: null }],
    ['probe', { probe: {} }],
    ['target', { target: { host: '', port: 1 } }],
    ['target', { target: { host: 'h', port: 0 } }],
    ['target', { target: { host: 'h', port: 1.5 } }],
    ['target', { target: { host: 'h', port: 65_536 } }],
    ['target', { target: { host: 'h', port: '80' } }],
    ['podAddresses', { podAddresses: [1] }],
    ['periodMilliseconds', { periodMilliseconds: '1s' }],
    ['failureThreshold', { failureThreshold: 1.5 }],
  ])('of which %s cannot be read are told apart, and cost the others nothing', (field, change) => {
    const problem = `the coordinator sent a ${field} that cannot be read`;
    expect(read([{ ...FULL, ...change }, A])).toEqual([{ name: 'cache', digest: 'e', problem }, A]);
  });

  test('without a name or digest, and again, are left out', () => {
    const nameless = [{ digest: 'd', probe: TCP }, null, 7, { ...A, name: 'A b' }];
    const undigested = [undefined, '', 7, 'x'.repeat(129)].map((digest, index) => ({
      ...A,
      name: `s-${index}`,
      digest,
    }));
    expect(read([...nameless, ...undigested, A, { ...A, failureThreshold: 2 }])).toEqual([A]);
  });

  test('have times and thresholds that are brought into range', () => {
    expect(read([{ ...A, periodMilliseconds: 0, successThreshold: 1e9 }])).toEqual([
      { ...A, periodMilliseconds: 100, successThreshold: 1000 },
    ]);
  });

  test.each([
    ['periodMilliseconds', 99, 100],
    ['timeoutMilliseconds', 9, 10],
    ['timeoutMilliseconds', 3_600_001, 3_600_000],
    ['failureThreshold', 0, 1],
    ['successThreshold', 1001, 1000],
  ])('have a %s that is in range: not %d, but %d', (field, told, taken) => {
    expect(read([{ ...A, [field]: told }])).toEqual([{ ...A, [field]: taken }]);
  });

  test('have a kind of probe and a host of the longest names that there are, and none that is longer', () => {
    const probe = { kind: 'k'.repeat(63) };
    const target = { host: 'h'.repeat(253), port: 65_535 };
    expect(read([{ ...A, probe, target }])).toEqual([{ ...A, probe, target }]);
    expect(read([{ ...A, probe: { kind: 'k'.repeat(64) } }])).toMatchObject([
      { problem: expect.stringContaining('probe') },
    ]);
    expect(read([{ ...A, target: { ...target, host: 'h'.repeat(254) } }])).toMatchObject([
      { problem: expect.stringContaining('target') },
    ]);
  });

  test('are at most as many as a report takes', () => {
    const many = Array.from({ length: 300 }, (_, index) => ({ name: `s-${index}`, digest: 'd' }));
    expect(read(many)).toHaveLength(256);
  });

  test('are a list', () => {
    expect(read({})).toEqual({ problem: 'services of the reply is not a list' });
  });

  test('never throw', () => {
    const fields = Object.fromEntries(Object.keys(FULL).map((field) => [field, fc.jsonValue()]));
    const named = fc.record(
      { ...fields, name: fc.constantFrom('a', 'b'), caBundle: fc.jsonValue() },
      { requiredKeys: ['name'] },
    );
    fc.assert(fc.property(fc.array(fc.oneof(fc.jsonValue(), named)), (services) => void read(services)));
  });
});
