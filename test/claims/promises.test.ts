import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { ROOT } from '../tidy/sources.ts';
import { PROMISES } from './promises.ts';

test.each(PROMISES)('$area: "$promise" has its test', ({ file, test: name }) => {
  const text = readFileSync(path.join(ROOT, file), 'utf8');
  // The name is the first argument of `test` or `it`, also after a table.
  expect(
    [...text.matchAll(/^\s*(?:.*\b(?:test|it)\b.*\(|\](?: as const)?\)\(|)'((?:[^'\\]|\\.)+)'/gm)].map(
      ([, found]) => found,
    ),
  ).toContain(name);
});
