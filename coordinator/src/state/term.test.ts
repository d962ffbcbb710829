import { expect, test } from 'vitest';
import { Term } from './term.ts';

const NODE = { pool: undefined, cameMs: undefined, isNew: false };
const THERE = { isExpected: true, wasHeard: true, mayHaveLeft: false };

const QUIET = { onChange: () => {}, services: () => [], sight: () => undefined, reports: () => new Map() };

function newTerm() {
  return new Term({ windowMs: 30_000, guardPercent: 55, ...QUIET }, 0);
}

test('a record ends with its Node, and is counted no more', () => {
  const term = newTerm();
  term.begin({ ...NODE, name: 'n', uid: 'u' }, THERE, 0);
  const record = term.record('n');
  expect([record?.uid, record?.ended, term.freshness.population.expected]).toEqual(['u', false, 1]);
  term.end('n');
  expect([term.record('n'), record?.ended, term.freshness.population.expected]).toEqual([undefined, true, 0]);
  term.end('n');
});

test('a Node of the same name begins a record of its own', () => {
  const term = newTerm();
  term.begin({ ...NODE, name: 'n', uid: 'u' }, THERE, 0);
  const before = term.record('n');
  term.begin({ ...NODE, name: 'n', uid: 'v' }, THERE, 0);
  expect([before?.ended, term.record('n')?.uid, [...term.records()].length]).toEqual([true, 'v', 1]);
  expect(term.freshness.population.expected).toBe(1);
});

test('all records end with the term', () => {
  const term = newTerm();
  for (const name of ['n', 'm']) term.begin({ ...NODE, name, uid: name }, THERE, 0);
  const records = [...term.records()];
  term.over();
  expect(records.map(({ ended }) => ended)).toEqual([true, true]);
});

test('a term is young for one window from when it began', () => {
  const term = new Term({ windowMs: 30_000, guardPercent: 55, ...QUIET }, 50_000);
  expect([50_000, 79_999, 80_000].map((nowMs) => term.isYoung(nowMs))).toEqual([true, true, false]);
});

test('an agent that is heard again within the window remembers what it was told', () => {
  const term = newTerm();
  term.begin({ ...NODE, name: 'n', uid: 'u' }, THERE, 0);
  const sessions = term.record('n')?.sessions;
  const service = { name: 'a', digest: 'd', probe: { kind: 'tcp' } };
  const header = { node: 'n', boot: 'b', digest: 'd' };
  sessions?.admit({ ...header, sequence: 1, services: [], devices: [], facts: {} }, {}, 0);
  sessions?.noteSent('b', undefined, [service], 0);
  sessions?.admit({ ...header, sequence: 2 }, {}, 29_999);
  expect(sessions?.sentMs.get('d')).toBe(0);
  sessions?.admit({ ...header, sequence: 3 }, {}, 59_999);
  expect(sessions?.sentMs.get('d')).toBeUndefined();
});
