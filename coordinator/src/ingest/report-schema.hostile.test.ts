import { fuzzRuns } from '@rollcall/common/fuzz-fixtures.ts';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseReport, REPORT_LIMITS } from './report-schema.ts';

/** Characters of what a client reads about its report, and of what is logged. */
const PROBLEM_MAX = 1000;

const REPORT = {
  node: 'n1',
  boot: 'b1',
  sequence: 7,
  digest: 'd1',
  leaving: false,
  services: [{ name: 'ws-daemon', ready: true, since: '2026-01-01T00:00:00Z', evidence: 'connected in 1 ms' }],
  devices: [
    {
      bus: 'usb',
      attributes: { vendor: '1a6e' },
      count: 2,
      driver: 'apex',
      virtual: true,
      address: '0000:00:01.0',
      numaNode: 0,
      iommuGroup: '1',
      nodes: ['/dev/apex_0'],
    },
  ],
  unread: ['facts'],
  facts: { kernel: '6.18' },
  answers: { 'nfd:a': true },
  values: { 'nfd:b': 'c' },
  version: '1.2.3',
  servicesDigest: 'ab',
};

/** Every path of the report above: `['services', 0, 'ready']`. */
function pathsOf(value: unknown, path: (string | number)[] = []): (string | number)[][] {
  if (typeof value !== 'object' || value === null) return [path];
  const entries = Array.isArray(value) ? [...value.entries()] : Object.entries(value);
  return [...(path.length > 0 ? [path] : []), ...entries.flatMap(([key, inner]) => pathsOf(inner, [...path, key]))];
}

const hostile = fc.oneof(
  fc.jsonValue({ maxDepth: 4 }),
  fc.string({ unit: 'binary', maxLength: 5000 }),
  fc.string({ maxLength: 20 }).map((text) => text.repeat(500)),
  fc.constantFrom(-1, 0, 1.5, 2 ** 53, Number.MAX_VALUE, '', 'NaN', null, [], {}, true),
  fc.constantFrom('9999-99-99T99:99:99Z', '2026-02-30T00:00:00Z', '-271821-04-20T00:00:00Z'),
  fc.integer({ min: 0, max: 2000 }).map((length) => Array.from({ length }, () => ({}))),
  fc
    .integer({ min: 0, max: 200 })
    .map((size) => Object.fromEntries(Array.from({ length: size }, (_, index) => [`k${index}`, 'v']))),
  fc.dictionary(fc.oneof(fc.constant('__proto__'), fc.string({ maxLength: 2000 })), fc.constant(1)),
);
const mutation = fc.record({ path: fc.constantFrom(...pathsOf(REPORT)), value: hostile, isGone: fc.boolean() });

/** The report after it was written and read as JSON, as a body is. */
function mutated(changes: readonly { path: (string | number)[]; value: unknown; isGone: boolean }[]): object {
  const report = structuredClone(REPORT) as unknown as Record<string | number, unknown>;
  for (const { path, value, isGone } of changes) {
    let holder: Record<string | number, unknown> | undefined = report;
    for (const part of path.slice(0, -1)) {
      const inner: unknown = holder?.[part];
      holder = typeof inner === 'object' && inner !== null ? (inner as typeof report) : undefined;
    }
    const key = path.at(-1) ?? '';
    if (!holder) continue;
    if (isGone) delete holder[key];
    else holder[key] = value;
  }
  return JSON.parse(JSON.stringify(report));
}

test('a report with faults is taken within the limits, or refused with a short problem', () => {
  let taken = 0;
  fc.assert(
    fc.property(fc.array(mutation, { maxLength: 3 }), (changes) => {
      const parsed = parseReport(mutated(changes));
      if ('problem' in parsed) {
        const { field, detail } = parsed.problem;
        expect(detail).not.toBe('');
        expect(field.length + detail.length).toBeLessThanOrEqual(PROBLEM_MAX);
        return;
      }
      taken += 1;
      const { report, unknown = [] } = parsed;
      expect(parseReport(report)).toEqual({ report });
      expect(unknown.length).toBeLessThanOrEqual(REPORT_LIMITS.devices + REPORT_LIMITS.unread);
      if (!('services' in report)) return;
      expect(report.services.length).toBeLessThanOrEqual(REPORT_LIMITS.services);
      expect(report.devices.length).toBeLessThanOrEqual(REPORT_LIMITS.devices);
      expect(Object.keys(report.facts).length).toBeLessThanOrEqual(REPORT_LIMITS.facts);
      expect(JSON.stringify(report).length).toBeLessThan(200_000);
    }),
    { numRuns: fuzzRuns(2000) },
  );
  expect(taken).toBeGreaterThan(100);
});

test.each([
  ['deep', { ...REPORT, facts: JSON.parse(`${'{"a":'.repeat(5000)}1${'}'.repeat(5000)}`) }],
  ['deep in a list', { ...REPORT, services: JSON.parse(`${'['.repeat(5000)}${']'.repeat(5000)}`) }],
  ['with a key of the prototype', JSON.parse('{"__proto__":{"services":[]},"node":"n"}')],
  ['with a fact of the prototype', { ...REPORT, facts: JSON.parse('{"__proto__":"x"}') }],
  ['with a long key', { ...REPORT, facts: { ['k'.repeat(100_000)]: 1 } }],
  ['a list', []],
])('a report that is %s is answered like any other', (_what, body) => {
  const parsed = parseReport(body);
  if ('problem' in parsed) expect(JSON.stringify(parsed.problem).length).toBeLessThanOrEqual(PROBLEM_MAX);
  else expect(parseReport(parsed.report)).toEqual({ report: parsed.report });
});
