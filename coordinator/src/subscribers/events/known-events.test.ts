import { expect, test } from 'vitest';
import type { EventNews } from './event-object.ts';
import { type KnownEvent, KnownEvents } from './event-recorder.ts';

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
