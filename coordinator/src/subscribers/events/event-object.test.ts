import { describe, expect, test } from 'vitest';
import { boundedMessage, eventName, eventObject, leaseSubject, packMessages } from './event-object.ts';

describe('the name of an Event', () => {
  const subdomain = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;

  test('is the name of its object with time and chance in hex', () => {
    expect(eventName('node-1', 0x19_b7_5e_5d_400, 0)).toBe('node-1.19b75e5d40000000');
    expect(eventName('node-1', 0x19_b7_5e_5d_400, 1 - Number.EPSILON)).toBe('node-1.19b75e5d400fffff');
  });

  test.each([
    'a',
    'a'.repeat(253),
    `${'a'.repeat(235)}.${'b'.repeat(17)}`,
    `${'a'.repeat(230)}-----.${'b'.repeat(17)}`,
  ])('is one that the API server takes, whatever the length of %s', (name) => {
    const made = eventName(name, Date.UTC(2026, 0, 1), 0.5);
    expect(made.length).toBeLessThanOrEqual(253);
    expect(made).toMatch(subdomain);
  });
});

describe('a message', () => {
  test('of 1,024 bytes stays as it is', () => {
    expect(boundedMessage('x'.repeat(1024))).toBe('x'.repeat(1024));
  });

  test.each(['x'.repeat(1025), 'ä'.repeat(513), `x${'😀'.repeat(600)}`])(
    'that is longer loses whole characters',
    (text) => {
      const bounded = boundedMessage(text);
      expect(Buffer.byteLength(bounded)).toBeLessThanOrEqual(1024);
      expect(Buffer.byteLength(bounded)).toBeGreaterThan(1016);
      expect(bounded.endsWith('…')).toBe(true);
      expect(bounded.isWellFormed()).toBe(true);
      expect(text.startsWith(bounded.slice(0, -1))).toBe(true);
    },
  );
});

test('messages share an Event as long as each stays whole', () => {
  const long = 'x'.repeat(600);
  expect(packMessages([])).toEqual([]);
  expect(packMessages(['a', 'b', 'c'])).toEqual(['a; b; c']);
  expect(packMessages(['a', long, long, 'b'])).toEqual([`a; ${long}`, `${long}; b`]);
  expect(packMessages(['x'.repeat(511), 'ä'.repeat(256)])).toHaveLength(2);
  expect(packMessages(['x'.repeat(510), 'ä'.repeat(256)])).toHaveLength(1);
});

test('an Event says what, about whom, since when, how often and by whom', () => {
  const subject = { apiVersion: 'v1', kind: 'Node', name: 'n', uid: 'u' };
  const news = { subject, type: 'Normal', reason: 'ServiceReady', message: 'ws-daemon is ready' } as const;
  const times = { firstMs: Date.UTC(2026, 0, 1, 0, 0, 0, 999), lastMs: Date.UTC(2026, 0, 1, 0, 1), count: 3 };
  expect(eventObject({ ...news, ...times, name: 'n.1' }, 'coordinator-0')).toEqual({
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name: 'n.1', namespace: 'default' },
    involvedObject: subject,
    type: 'Normal',
    reason: 'ServiceReady',
    action: 'ServiceReady',
    message: 'ws-daemon is ready',
    count: 3,
    firstTimestamp: '2026-01-01T00:00:00Z',
    lastTimestamp: '2026-01-01T00:01:00Z',
    source: { component: 'rollcall' },
    reportingComponent: 'rollcall',
    reportingInstance: 'coordinator-0',
  });
});

test('an Event about the whole fleet is attached to the Lease, whose uid is unknown', () => {
  expect(leaseSubject({ namespace: 'rollcall', name: 'lease' })).toEqual({
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    namespace: 'rollcall',
    name: 'lease',
    uid: '',
  });
});
