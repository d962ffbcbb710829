import { expect, test } from 'vitest';
import { guardCure, guardText, SUBJECTS, type Subject } from './guards.ts';

test.each(SUBJECTS)('a guard with the subject %s is one sentence, with a cure', (subject) => {
  const [one, three] = [1, 3].map((nodes) => guardText({ subject, of: 'a/b', nodes }));
  expect(one).toMatch(new RegExp(`^A guard is active \\(${subject}\\): .*a/b.* 1 node\\b`));
  expect(three).toContain('3 nodes');
  expect(guardCure({ subject })).toMatch(/^(check|if|repair) /);
});

test('a subject that is not known is shown as it is', () => {
  const subject = 'toString' as Subject;
  expect(guardText({ subject, of: 'x', nodes: 1 })).toBe('A guard is active (toString): x');
  expect(guardCure({ subject })).toContain('documentation');
});
