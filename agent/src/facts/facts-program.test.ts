import { existsSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { factsProgram } from './facts-program.ts';

test('runs from source the source beside it', () => {
  const file = factsProgram(import.meta.url).args.at(-1) ?? '';
  expect(file).toBe(path.join(import.meta.dirname, 'child.ts'));
  expect(existsSync(file)).toBe(true);
});

test('runs from a bundle the bundle beside it, wherever that is', () => {
  expect(factsProgram('file:///opt/roll%20call/main.js').args.at(-1)).toBe('/opt/roll call/facts.js');
});
