import { describe, expect, test } from 'vitest';
import { labelOfFile } from './parse-rule-file.ts';

const refuse = (label: string) =>
  label.startsWith('gitpod.io/') ? 'is set by rollcall for another reason' : undefined;

describe('the label of a file', () => {
  test.each(['accelerators/edgetpu', 'testLabel', 'example.com/a.b_c-d', 'constructor'])(
    'AL-3: is its path below the label directory: %s',
    (file) => {
      expect(labelOfFile(file, refuse)).toEqual({ label: file });
    },
  );

  test.each([
    ['a/b/c', /too deep/],
    ['accelerators/edgetpu~', /not a valid label key/],
    ['Upper/x', /not a valid label key/],
    ['under_score/x', /not a valid label key/],
    ['', /not a valid label key/],
    ['x/', /not a valid label key/],
    ['/x', /not a valid label key/],
    ['a b', /not a valid label key/],
    [`x/${'a'.repeat(64)}`, /not a valid label key/],
    ['gitpod.io/ready', /another reason/],
  ])('A-11: is refused for %j', (file, problem) => {
    expect(labelOfFile(file, refuse)).toEqual({ problem: expect.stringMatching(problem) });
  });
});
