import { type FullReport, type Heartbeat, PROTOCOL_VERSION } from '@rollcall/common/report.ts';
import { fuzzRuns } from '@rollcall/common/testing/fuzz.ts';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseReport, REPORT_LIMITS } from './report-schema.ts';

/** Characters of what a client reads about its report, and of what is logged. */
const PROBLEM_MAX = 1000;

const REPORT = {
  protocol: PROTOCOL_VERSION,
  node: 'n1',
  boot: 'b1',
  sequence: 7,
  digest: 'd1',
  leaving: false,
  services: [
    { name: 'ws-daemon', ready: true, since: '2026-01-01T00:00:00Z', evidence: 'connected in 1 ms', digest: 'c1' },
  ],
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

/** A value of the same form and of another size: a longer text, more items, more entries. */
function resized(value: unknown, size: number): unknown {
  if (typeof value === 'string') return 'x'.repeat(size);
  if (typeof value === 'number') return size;
  if (Array.isArray(value)) return Array.from({ length: size }, (_, index) => numbered(value[0], index));
  if (typeof value !== 'object' || value === null) return value;
  const [entry] = Object.values(value);
  return Object.fromEntries(Array.from({ length: size }, (_, index) => [`k${index}`, entry]));
}

function numbered(item: unknown, index: number): unknown {
  const isService = typeof item === 'object' && item !== null && 'name' in item;
  return isService ? { ...item, name: `${item.name}${index}` } : item;
}

const paths = fc.constantFrom(...pathsOf(REPORT));
/** Around each limit. */
const sizes = fc.constantFrom(...Object.values(REPORT_LIMITS).flatMap((max) => [max, max + 1]));
const sized = fc.tuple(paths, sizes).map(([path, size]) => {
  const value = path.reduce<unknown>((holder, part) => (holder as Record<string | number, unknown>)[part], REPORT);
  return { path, value: resized(value, Array.isArray(value) ? Math.min(size, 1024) : size) };
});
const anyFault = fc.record({ path: paths, value: hostile, isGone: fc.boolean() });
const wrongSize = sized.map((change) => ({ ...change, isGone: false }));
const mutations = fc.oneof(
  fc.tuple(wrongSize),
  fc.array(fc.oneof({ weight: 3, arbitrary: anyFault }, wrongSize), { maxLength: 3 }),
);

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
    else holder[key] = structuredClone(value);
  }
  return JSON.parse(JSON.stringify(report));
}

/** As the limits count them: a surrogate pair is one. */
function charactersIn(text: string): number {
  return [...text].length;
}

/** Everything in a report that has a limit: what it is, its size, and the limit. */
function sizesOf(report: FullReport | Heartbeat): [string, number, number][] {
  const max = REPORT_LIMITS;
  const entries = (what: string, given: Readonly<Record<string, unknown>> = {}, entriesMax: number) => [
    [what, Object.keys(given).length, entriesMax],
    ...Object.keys(given).map((key) => [`key of ${what}`, charactersIn(key), max.key]),
    ...Object.values(given).map((value) => [`value of ${what}`, charactersIn(String(value)), max.value]),
  ];
  const header = [
    ['node', charactersIn(report.node), max.nodeName],
    ['boot', charactersIn(report.boot), max.boot],
    ['sequence', report.sequence, Number.MAX_SAFE_INTEGER],
    ['digest', charactersIn(report.digest), max.digest],
    ['servicesDigest', charactersIn(report.servicesDigest ?? ''), max.digest],
  ];
  if (!('services' in report)) return header as [string, number, number][];
  const { services, devices, facts, answers, values, unread = [], version = '' } = report;
  return [
    ...header,
    ['services', services.length, max.services],
    ...services.flatMap(({ name, evidence, digest }) => [
      ['name', charactersIn(name), max.serviceName],
      ['evidence', charactersIn(evidence), max.evidence],
      ['digest of a service', charactersIn(digest ?? ''), max.digest],
    ]),
    ['names that occur twice', services.length - new Set(services.map(({ name }) => name)).size, 0],
    ['devices', devices.length, max.devices],
    ...devices.flatMap(({ attributes, count = 1, driver = '', address = '', iommuGroup = '', nodes = [] }) => [
      ...entries('attributes', attributes, max.deviceAttributes),
      ['count', count, max.deviceCount],
      ['driver', charactersIn(driver), max.value],
      ['address', charactersIn(address), max.value],
      ['iommuGroup', charactersIn(iommuGroup), max.value],
      ['nodes', nodes.length, max.deviceNodes],
      ...nodes.map((node) => ['device node', charactersIn(node), max.value]),
    ]),
    ...entries('facts', facts, max.facts),
    ...entries('answers', answers, max.answers),
    ...entries('values', values, max.answers),
    ['unread', unread.length, max.unread],
    ['version', charactersIn(version), max.key],
  ] as [string, number, number][];
}

test('a report with faults is taken within the limits, or refused with a short problem', () => {
  let taken = 0;
  fc.assert(
    fc.property(mutations, (changes) => {
      const parsed = parseReport(mutated(changes));
      if ('problem' in parsed) {
        const { field, detail } = parsed.problem;
        expect(detail).not.toBe('');
        expect(field.length + detail.length).toBeLessThanOrEqual(PROBLEM_MAX);
        return;
      }
      taken += 1;
      const { report } = parsed;
      expect(parseReport({ protocol: PROTOCOL_VERSION, ...report })).toEqual({ report });
      expect(sizesOf(report).filter(([, size, max]) => size > max)).toEqual([]);
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
  else expect(parseReport({ protocol: PROTOCOL_VERSION, ...parsed.report })).toEqual({ report: parsed.report });
});
