import { expect, test } from 'vitest';
import { ago, seconds, span, timeOfDay, visible } from './format.ts';

test('what cannot be seen in a text is made visible, and the rest stays', () => {
  expect(visible('plain – ünï 👩‍🚀 עברית')).toBe('plain – ünï 👩‍🚀 עברית');
  expect(visible('a\u202egnp\u0000\n\u200b')).toBe('a⟨U+202E⟩gnp⟨U+0000⟩⟨U+000A⟩⟨U+200B⟩');
});

test.each([
  [0, '0 s'],
  [59.4, '59 s'],
  [61, '1 min 1 s'],
  [3600, '1 h'],
  [7260, '2 h 1 min'],
  [90_000, '1 d 1 h'],
  [-5, '0 s'],
])('a span of %s seconds is %s', (value, text) => {
  expect(span(value)).toBe(text);
});

test('measured seconds are told to a tenth while they are few', () => {
  expect([0, 0.01, 0.42, 9.96, 12].map(seconds)).toEqual(['0 s', '<0.1 s', '0.4 s', '10.0 s', '12 s']);
});

test('a moment is told from now', () => {
  const nowMs = Date.parse('2026-01-01T00:01:00Z');
  expect(ago('2026-01-01T00:00:00Z', nowMs)).toBe('1 min ago');
  expect(ago(nowMs + 5000, nowMs)).toBe('just now');
  expect(ago('nonsense', nowMs)).toBe('at an unknown time');
});

test.each([
  [59.5, '1 min'],
  [3599, '59 min 59 s'],
  [3660, '1 h 1 min'],
  [86_399, '23 h 59 min'],
  [86_400, '1 d'],
  [86_400 + 25 * 3600, '2 d 1 h'],
])('a span of %s seconds has no more than its two largest units: %s', (value, text) => {
  expect(span(value)).toBe(text);
});

test('a twentieth of a second is measured, and ten seconds are whole', () => {
  expect([0.049, 0.05, 9.94, 10, 10.4].map(seconds)).toEqual(['<0.1 s', '0.1 s', '9.9 s', '10 s', '10 s']);
});

test('a moment less than a second ago is just now', () => {
  expect([ago(0, 999), ago(0, 1000), ago(Number.NaN, 0)]).toEqual(['just now', '1 s ago', 'at an unknown time']);
});

test('a time of day is on the clock of the reader, and a dash where it is none', () => {
  expect(timeOfDay('2026-01-01T00:00:05Z')).toMatch(/^\d\d:\d\d:05$/);
  expect(timeOfDay('nonsense')).toBe('–');
});
