import { fuzzRuns } from '@rollcall/common/fuzz-fixtures.ts';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseReply, problemDetail } from './reply.ts';
import { namesToAsk, parseResolvConf } from './resolv-conf.ts';

const pieces = fc.constantFrom(
  'nameserver ',
  'search ',
  'domain ',
  'options ',
  'ndots:',
  'timeout:',
  'attempts:',
  '99999999999999999999',
  '0',
  '-1',
  '10.0.0.1',
  'fe80::1%eth0',
  'svc.cluster.local',
  '.',
  '..',
  '#',
  ';',
  '\t',
  '\r',
  '\n',
  '\0',
);
const text = fc.oneof(
  fc.array(pieces, { maxLength: 60 }).map((all) => all.join('')),
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

test('a reply of any text is a reply or a short problem', () => {
  const value = fc.jsonValue({ maxDepth: 3 });
  const keys = [
    'nextReportSeconds',
    'full',
    'questions',
    'services',
    'targets',
    'title',
    'detail',
    'field',
    '__proto__',
  ];
  const reply = fc.oneof(
    fc.dictionary(fc.constantFrom(...keys), value).map((body) => JSON.stringify(body)),
    fc.dictionary(fc.string({ maxLength: 2000 }), fc.constant(1)).map((targets) => JSON.stringify({ targets })),
    fc.string({ unit: 'binary' }),
    fc.constantFrom('['.repeat(100_000), '{"a":'.repeat(100_000), '9'.repeat(1000), ''),
  );
  fc.assert(
    fc.property(reply, (content) => {
      const parsed = parseReply(content);
      if ('problem' in parsed) expect(parsed.problem.length).toBeLessThan(400);
      else expect(typeof parsed.reply.full).toBe('boolean');
      for (const said of Object.values(problemDetail(content))) expect(said.length).toBeLessThanOrEqual(300);
    }),
    { numRuns: fuzzRuns(2000) },
  );
});
