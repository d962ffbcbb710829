import { expect, test } from 'vitest';
import { ago, seconds, span, visible } from './format.ts';

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
