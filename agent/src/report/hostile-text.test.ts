import { isSubdomain } from '@rollcall/common/config/checks.ts';
import { fuzzRuns } from '@rollcall/common/testing/fuzz.ts';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { namesToAsk, parseResolvConf } from '../host-lookup.ts';
import { parseReply, problemDetail } from './reply.ts';

const keyword = fc.constantFrom('nameserver', 'search', 'domain', 'options', 'unknown', '#', ';', '\0', '');
const word = fc.oneof(
  fc.constantFrom('10.0.0.1', 'fe80::1%eth0', 'svc.cluster.local', '.', '..', '#', ';', '\0'),
  fc
    .tuple(fc.constantFrom('ndots:', 'timeout:', 'attempts:'), fc.constantFrom('', '0', '-1', '99999999999999999999'))
    .map((option) => option.join('')),
);
const space = fc.constantFrom(' ', '\t', '  ', '\r');
const line = fc
  .tuple(keyword, space, fc.array(word, { maxLength: 4 }), space)
  .map(([first, before, words, between]) => first + before + words.join(between));
const text = fc.oneof(
  fc.array(line, { maxLength: 12 }).map((lines) => lines.join('\n')),
  fc.string({ unit: 'binary', maxLength: 300 }),
);

test('a resolv.conf of any text gives settings within the limits of glibc', () => {
  fc.assert(
    fc.property(text, fc.constantFrom('name', 'name.', 'a.b.c', ''), (content, name) => {
      const conf = parseResolvConf(content);
      expect(conf.ndots).toBeLessThanOrEqual(15);
      expect(conf.timeoutMs).toBeGreaterThanOrEqual(1000);
      expect(conf.timeoutMs).toBeLessThanOrEqual(30_000);
      expect(conf.attempts).toBeGreaterThanOrEqual(1);
      expect(conf.attempts).toBeLessThanOrEqual(5);
      expect([...conf.nameservers, ...conf.search].filter((word) => /\s/.test(word) || word === '')).toEqual([]);
      const names = namesToAsk(name, conf);
      expect(names.length).toBeLessThanOrEqual(conf.search.length + 1);
      expect(new Set(names).size).toBe(names.length);
    }),
    { numRuns: fuzzRuns(3000) },
  );
});

test('a reply of any text is a reply within its limits or a short problem', () => {
  const value = fc.jsonValue({ maxDepth: 3 });
  const long = fc.nat(1000).map((length) => 'x'.repeat(length));
  const orAnything = <T>(proper: fc.Arbitrary<T>) => fc.oneof({ weight: 3, arbitrary: proper }, value);
  const service = fc.record(
    {
      name: orAnything(fc.constantFrom('a', 'b', 'c', 'A', '')),
      digest: fc.oneof({ weight: 9, arbitrary: fc.string({ minLength: 1, maxLength: 64 }) }, long),
      probe: orAnything(fc.constant({ kind: 'tcp' })),
      caBundle: orAnything(fc.constantFrom('x', '__proto__')),
      target: orAnything(fc.record({ host: long, port: fc.integer() })),
      podAddresses: value,
      periodMilliseconds: orAnything(fc.integer()),
    },
    { requiredKeys: ['name', 'digest'] },
  );
  const fields = fc.record(
    {
      nextReportSeconds: orAnything(fc.double({ noNaN: true, noDefaultInfinity: true })),
      full: orAnything(fc.boolean()),
      newSession: orAnything(fc.boolean()),
      questions: orAnything(
        fc.array(fc.oneof({ weight: 20, arbitrary: fc.constantFrom('a', 'b') }, value), { maxLength: 100 }),
      ),
      services: orAnything(fc.array(fc.oneof({ weight: 9, arbitrary: service }, value), { maxLength: 5 })),
      caBundles: orAnything(fc.constantFrom<unknown>({}, { x: 'PEM' }, { x: 1 }, null, [])),
      servicesDigest: orAnything(long),
      title: value,
      detail: orAnything(long),
      field: orAnything(long),
    },
    { requiredKeys: [] },
  );
  const reply = fc.oneof(
    { weight: 4, arbitrary: fields.map((body) => JSON.stringify(body)) },
    { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 300 }) },
    {
      weight: 1,
      arbitrary: fc.constantFrom('['.repeat(100_000), '{"a":'.repeat(100_000), '9'.repeat(1000), '', '{"__proto__":1}'),
    },
  );
  let services = 0;
  fc.assert(
    fc.property(reply, (content) => {
      for (const said of Object.values(problemDetail(content))) expect(said.length).toBeLessThanOrEqual(300);
      const parsed = parseReply(content);
      if ('problem' in parsed) {
        expect(parsed.problem.length).toBeLessThan(400);
        return;
      }
      const { full, nextReportSeconds = 1, questions = [], services: told = [], servicesDigest = '' } = parsed.reply;
      expect(typeof full).toBe('boolean');
      expect(Math.min(600, Math.max(0.2, nextReportSeconds))).toBe(nextReportSeconds);
      expect(questions.length).toBeLessThanOrEqual(64);
      expect(servicesDigest.length).toBeLessThanOrEqual(128);
      expect(new Set(told.map(({ name }) => name)).size).toBe(told.length);
      for (const { name, digest, target, probe, periodMilliseconds = 10 } of told) {
        expect(isSubdomain(name)).toBe(true);
        expect(digest.length).toBeLessThanOrEqual(128);
        if (target) expect(target.port).toBeLessThanOrEqual(65_535);
        if (target) expect(target.host.length).toBeLessThanOrEqual(253);
        if (probe) expect(typeof probe.kind).toBe('string');
        expect(periodMilliseconds).toBeGreaterThanOrEqual(10);
      }
      services += told.length;
    }),
    { numRuns: fuzzRuns(2000) },
  );
  expect(services).toBeGreaterThan(100);
});
