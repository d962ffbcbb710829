import { expect, test } from 'vitest';
import { Term } from './term.ts';

function newTerm() {
  return new Term({ windowMs: 30_000, guardPercent: 55, onChange: () => {} }, 0);
}

test('a record ends with its Node, and is counted no more', () => {
  const term = newTerm();
  term.begin({ name: 'n', uid: 'u' }, undefined, 'there', 0);
  const record = term.record('n');
  expect([record?.uid, record?.ended, term.freshness.population.expected]).toEqual(['u', false, 1]);
  term.end('n');
  expect([term.record('n'), record?.ended, term.freshness.population.expected]).toEqual([undefined, true, 0]);
  term.end('n');
});

test('a Node of the same name begins a record of its own', () => {
  const term = newTerm();
  term.begin({ name: 'n', uid: 'u' }, undefined, 'there', 0);
  const before = term.record('n');
  term.begin({ name: 'n', uid: 'v' }, undefined, 'there', 0);
  expect([before?.ended, term.record('n')?.uid, [...term.records()].length]).toEqual([true, 'v', 1]);
  expect(term.freshness.population.expected).toBe(1);
});

test('all records end with the term', () => {
  const term = newTerm();
  for (const name of ['n', 'm']) term.begin({ name, uid: name }, undefined, 'there', 0);
  const records = [...term.records()];
  term.over();
  expect(records.map(({ ended }) => ended)).toEqual([true, true]);
});
