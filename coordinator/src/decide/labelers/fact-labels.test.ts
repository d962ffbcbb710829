import { isLabelValue } from '@rollcall/common/label-syntax.ts';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { snapshot } from '../readiness/readiness.test-fixtures.ts';
import { factLabelsLabeler, labelValue } from './fact-labels.ts';
import type { EvaluatedNode } from './labeler.ts';

const labeler = factLabelsLabeler(['cpu-brand', 'board']);

function claims(change: Partial<EvaluatedNode>): string[] {
  const node = { ...snapshot(change), readiness: new Map(), ageMs: 0 };
  return labeler.claims(node).map(({ stance, key, value }) => `${stance} ${key}=${value}`);
}

test('facts that are asked for and known are labels, with dashes for what a label may not hold', () => {
  const facts = { 'cpu-brand': 'AMD EPYC™ 7B13 (64)', memory: '16', board: '' };
  expect(claims({ machine: { devices: [], facts } })).toEqual(['present fact.rollcall.dev/cpu-brand=AMD-EPYC-7B13-64']);
});

test('they stay as they are while no agent has spoken', () => {
  const key = 'fact.rollcall.dev/cpu-brand';
  expect(claims({ labels: { [key]: 'x', tier: 'gold' }, ownedLabels: new Set([key, 'tier']) })).toEqual([
    `keep ${key}=x`,
  ]);
});

test('they stay as they are while the agent has not read them, but for those that it knows', () => {
  const [brand, board, old] = ['cpu-brand', 'board', 'no-more'].map((name) => `fact.rollcall.dev/${name}`);
  const labels = { [`${brand}`]: 'x', [`${board}`]: 'y', [`${old}`]: 'z' };
  const ours = { labels, ownedLabels: new Set(Object.keys(labels)) };
  const machine = { devices: [], facts: { 'cpu-brand': 'new' } };
  expect(claims({ ...ours, machine: { ...machine, unread: ['facts'] } })).toEqual([
    `present ${brand}=new`,
    `keep ${board}=y`,
  ]);
  expect(claims({ ...ours, machine: { ...machine, unread: ['usb'] } })).toEqual([
    `present ${brand}=new`,
    `absent ${board}=y`,
  ]);
});

test('any text makes a value that a label may have', () => {
  fc.assert(fc.property(fc.string({ unit: 'grapheme', maxLength: 200 }), (text) => isLabelValue(labelValue(text))));
});

test('each says what is reported, or why it stays', () => {
  const reasons = (change: Partial<EvaluatedNode>) =>
    labeler.claims({ ...snapshot(change), readiness: new Map(), ageMs: 0 }).map(({ reason }) => reason);
  const key = 'fact.rollcall.dev/board';
  const ours = { labels: { [key]: 'x' }, ownedLabels: new Set([key]) };
  expect(reasons({ machine: { devices: [], facts: { board: 'a b' } } })).toEqual(['the agent reports board as "a b"']);
  expect(reasons(ours)).toEqual(['no agent has reported the facts yet']);
  expect(reasons({ ...ours, machine: { devices: [], facts: {}, unread: ['facts'] } })).toEqual([
    'the agent has not read the facts yet',
  ]);
});

test('a text is cut to what a label may hold, with nothing at its ends that may not be there', () => {
  expect(labelValue('x'.repeat(64))).toBe('x'.repeat(63));
  expect(labelValue('__a  b..')).toBe('a-b');
  expect(labelValue(`${'x'.repeat(62)} y`)).toBe('x'.repeat(62));
});
