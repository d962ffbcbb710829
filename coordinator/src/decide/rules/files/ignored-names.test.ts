import { expect, test } from 'vitest';
import { isIgnoredName } from './tree-reader.ts';

test.each([
  '..data',
  '..2026_01_01',
  '.edgetpu.swp',
  '.git',
  '.nfs0001',
  'edgetpu~',
  'edgetpu.swp',
  'edgetpu.swx',
  'edgetpu.tmp',
  'edgetpu.bak',
  'edgetpu.orig',
  'edgetpu.dpkg-dist',
  'edgetpu.rpmsave',
  '#edgetpu#',
  '.#edgetpu',
  '4913',
  'edgetpu___jb_tmp___',
  'lost+found',
])('A-16: %s is not there to stay', (name) => {
  expect(isIgnoredName(name)).toBe(true);
});

test.each(['edgetpu', 'tmp', 'bak', 'swap', 'a.b', 'x.tmpl', '49130', 'gpu.v2', 'old'])('%s is a label', (name) => {
  expect(isIgnoredName(name)).toBe(false);
});
