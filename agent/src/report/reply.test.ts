import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseReply, problemDetail } from './reply.ts';

const ok = (value: unknown) => parseReply(JSON.stringify(value));

describe('parseReply', () => {
  test('reads everything that a coordinator may say, and ignores what it does not know', () => {
    const targets = { 'ws-daemon': { host: '10.0.0.1', port: 8080, weight: 3 } };
    expect(ok({ nextReportSeconds: 12.5, full: true, targets, mood: 'good' })).toEqual({
      reply: {
        nextReportSeconds: 12.5,
        full: true,
        targets: new Map([['ws-daemon', { host: '10.0.0.1', port: 8080 }]]),
      },
    });
  });

  test('tells no targets from an empty list of them', () => {
    expect(ok({ nextReportSeconds: 1 })).toEqual({ reply: { nextReportSeconds: 1, full: false } });
    expect(ok({ targets: {} })).toEqual({ reply: { full: false, targets: new Map() } });
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
    ['{"targets":[]}'],
    ['{"targets":{"a":null}}'],
    ['{"targets":{"a":{"host":"","port":1}}}'],
    ['{"targets":{"a":{"host":"h","port":0}}}'],
    ['{"targets":{"a":{"host":"h","port":65536}}}'],
    ['{"targets":{"a":{"host":"h","port":"80"}}}'],
    ['{"targets":{"a":{"host":1,"port":80}}}'],
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
