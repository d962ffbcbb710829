import { expect, test } from 'vitest';
import type { EventNews } from './event-news.ts';
import { type KnownEvent, KnownEvents } from './known-events.ts';
import { SubjectBudget } from './subject-budget.ts';

function newsOf(node: string): EventNews {
  const subject = { apiVersion: 'v1', kind: 'Node', name: node, uid: node };
  return { subject, type: 'Normal', reason: 'ServiceReady', message: 'ready' };
}

function eventOf(node: string): KnownEvent {
  return { ...newsOf(node), name: node, firstMs: 0, lastMs: 0, count: 1, state: 'idle', stored: true, unsent: 0 };
}

test('4,096 Events are remembered, and the one not seen for longest is forgotten', () => {
  const known = new KnownEvents();
  for (let index = 0; index < 4096; index += 1) known.add(eventOf(`n${index}`), index);
  known.see(newsOf('n0'), 5000);
  known.add(eventOf('another'), 5000);
  expect(known.size).toBe(4096);
  expect(known.see(newsOf('n0'), 5000)?.name).toBe('n0');
  expect(known.see(newsOf('n1'), 5000)).toBeUndefined();
  expect(known.see(newsOf('n2'), 5000)?.name).toBe('n2');
});

test('an object may have 25 Events at once at whatever fraction of a millisecond', () => {
  const budget = new SubjectBudget();
  for (let index = 0; index < 100; index += 1) {
    const nowMs = index * 1234.567;
    const taken = Array.from({ length: 30 }, () => budget.take(`n${index}`, nowMs));
    expect(taken.filter(Boolean)).toHaveLength(25);
  }
});

test('8,192 budgets are remembered, and the one not used for longest is forgotten', () => {
  const budget = new SubjectBudget();
  for (let index = 0; index < 25; index += 1) {
    budget.take('old', 0.7);
    budget.take('busy', 0.7);
  }
  expect([budget.take('old', 0.7), budget.take('busy', 0.7)]).toEqual([false, false]);
  for (let index = 0; index < 8192; index += 1) {
    budget.take(`n${index}`, 1);
    budget.take('busy', 1);
  }
  expect(budget.size).toBe(8192);
  expect([budget.take('busy', 1), budget.take('old', 1)]).toEqual([false, true]);
});
