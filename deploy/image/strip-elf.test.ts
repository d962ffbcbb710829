import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, test } from 'vitest';
import { stripElf } from './strip-elf.ts';

test.skipIf(process.platform !== 'linux')('makes a program smaller that does what it did', () => {
  const dir = mkdtempSync(path.join(tmpdir(), 'rollcall-strip-'));
  try {
    const program = path.join(dir, 'node');
    const original = readFileSync(process.execPath);
    const stripped = stripElf(original);
    writeFileSync(program, stripped, { mode: 0o755 });
    expect(execFileSync(program, ['-p', '6 * 7'], { encoding: 'utf8' })).toBe('42\n');
    expect(stripped.length).toBeLessThan(original.length * 0.9);
    expect(stripElf(stripped).equals(stripped)).toBe(true);
  } finally {
    rmSync(dir, { recursive: true });
  }
});

test('refuses what is not a program', () => {
  expect(() => stripElf(Buffer.from('#!/bin/sh\n'))).toThrow('ELF');
});
