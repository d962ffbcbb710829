import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { PROJECT } from '../../deploy/source/project.ts';
import { ROOT } from './sources.ts';

const lines = readFileSync(path.join(ROOT, '.github/CODEOWNERS'), 'utf8')
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'))
  .map((line) => line.split(/\s+/));

test('every file has an owner, and every pattern of CODEOWNERS a path that exists', () => {
  expect(lines[0]?.[0]).toBe('*');
  const paths = lines.slice(1).map(([pattern = '']) => pattern);
  expect(paths.filter((name) => !existsSync(path.join(ROOT, name)))).toEqual([]);
});

test('owners are teams of the organization that the project names', () => {
  const organization = new URL(PROJECT.source).pathname.split('/')[1];
  const owners = lines.flatMap(([, ...names]) => names);
  expect(owners.length).toBeGreaterThan(0);
  expect(owners.filter((name) => !new RegExp(`^@${organization}/[a-z-]+$`).test(name))).toEqual([]);
});
