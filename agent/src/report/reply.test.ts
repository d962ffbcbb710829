import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseReply, problemDetail } from './reply.ts';

const ok = (value: unknown) => parseReply(JSON.stringify(value));

describe('parseReply', () => {
  test('reads everything that a coordinator may say, and ignores what it does not know', () => {
    const services = [
      { name: 'a', digest: 'd', probe: { kind: 'tcp' }, target: { host: '10.0.0.1', port: 8080, weight: 3 } },
    ];
    const body = { nextReportSeconds: 12.5, full: true, newSession: true, services, servicesDigest: 'd' };
    expect(ok({ ...body, mood: 'good' })).toEqual({
      reply: {
        ...body,
        services: [{ name: 'a', digest: 'd', probe: { kind: 'tcp' }, target: { host: '10.0.0.1', port: 8080 } }],
      },
    });
  });

  test('takes names of probes with the check and the check in anyOf, and no other slashes', () => {
    const named = (name: string) => ({ name, digest: 'd', probe: { kind: 'tcp' } });
    const services = ['a', 'a.b/c', 'a/b/c', 'a/b/c/d', 'a/', '/a', 'a/b.c', 'A/b'].map(named);
    expect(ok({ services })).toEqual({ reply: { full: false, services: ['a', 'a.b/c', 'a/b/c'].map(named) } });
  });

  test('tells no list of services from an empty one, and takes no digest without a list', () => {
    expect(ok({ nextReportSeconds: 1, servicesDigest: 'd' })).toEqual({
      reply: { nextReportSeconds: 1, full: false },
    });
    expect(ok({ services: [], servicesDigest: 'd' })).toEqual({
      reply: { full: false, services: [], servicesDigest: 'd' },
    });
    for (const servicesDigest of [7, '', 'x'.repeat(129)]) {
      expect(ok({ services: [], servicesDigest })).toEqual({ reply: { full: false, services: [] } });
    }
  });

  test('puts a CA bundle where services name it, and reports the ones whose bundle is missing', () => {
    const https = (name: string, caBundle: unknown) => ({ name, digest: 'd', probe: { kind: 'https' }, caBundle });
    const services = [https('a', 'k'), https('b', 'k'), https('c', 'x'), https('d', 7), https('e', 'toString')];
    const problem = 'the coordinator sent a caBundle that cannot be read';
    expect(ok({ services: [...services], caBundles: { k: 'PEM' } })).toEqual({
      reply: {
        full: false,
        services: [
          { name: 'a', digest: 'd', probe: { kind: 'https', caBundle: 'PEM' } },
          { name: 'b', digest: 'd', probe: { kind: 'https', caBundle: 'PEM' } },
          ...['c', 'd', 'e'].map((name) => ({ name, digest: 'd', problem })),
        ],
      },
    });
  });

  test('refuses what is nested too deeply, wherever that is', () => {
    const nested = `${'{"a":['.repeat(20_000)}${']}'.repeat(20_000)}`;
    for (const text of [
      nested,
      `{"x":${nested}}`,
      `{"services":[{"name":"a","probe":{"kind":"tcp","x":${nested}}}]}`,
    ]) {
      expect(parseReply(text)).toEqual({ problem: 'the reply is not a JSON object, or is nested too deeply' });
      expect(problemDetail(text)).toEqual({});
    }
  });

  test('reads the questions, without what is no text, and no more than a coordinator takes answers to', () => {
    expect(ok({ questions: ['cpu:avx', 7, null, 'module:kvm'] })).toEqual({
      reply: { full: false, questions: ['cpu:avx', 'module:kvm'] },
    });
    expect(ok({ questions: [] })).toEqual({ reply: { full: false, questions: [] } });
    const many = Array.from({ length: 65 }, (_, index) => `module:m${index}`);
    expect(ok({ questions: many })).toEqual({ reply: { full: false, questions: many.slice(0, 64) } });
    expect(ok({ questions: 'cpu:avx' })).toEqual({ problem: 'questions of the reply is not a list' });
  });

  test.each([
    [0.001, 0.2],
    [-5, 0.2],
    [10_000, 600],
  ])('brings an interval of %d s into range', (asked, taken) => {
    expect(ok({ nextReportSeconds: asked })).toEqual({ reply: { nextReportSeconds: taken, full: false } });
  });

  test.each([
    ['[]'],
    ['null'],
    ['7'],
    ['{'],
    [''],
    ['{"nextReportSeconds":"10"}'],
    ['{"nextReportSeconds":null}'],
    ['{"full":1}'],
    ['{"newSession":1}'],
    ['{"services":{}}'],
    ['{"services":[],"caBundles":[]}'],
  ])('finds %s wrong', (text) => {
    expect(parseReply(text)).toHaveProperty('problem');
  });

  test('never throws', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json()), (text) => {
        parseReply(text);
        problemDetail(text);
      }),
    );
  });
});

describe('problemDetail', () => {
  test('keeps what is text, cut to a length that fits into a log line', () => {
    const text = JSON.stringify({ title: 'No', detail: 'x'.repeat(1000), field: 7 });
    expect(problemDetail(text)).toEqual({ title: 'No', detail: 'x'.repeat(300) });
  });

  test('finds nothing in a page of HTML', () => {
    expect(problemDetail('<html></html>')).toEqual({});
  });
});
