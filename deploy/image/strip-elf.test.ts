import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
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

describe('a file of the ELF format', () => {
  const HEADER = 64;
  const ENTRY = 56;

  /** A program with segments, each from a place in the file and so many bytes long. */
  function programWith(bytes: number, segments: readonly (readonly [offset: number, size: number])[]): Buffer {
    const file = Buffer.alloc(bytes, 0xaa);
    file.write('\x7fELF\x02\x01', 0, 'latin1');
    file.writeBigUInt64LE(BigInt(HEADER), 32);
    file.writeBigUInt64LE(1234n, 40);
    file.writeUInt16LE(ENTRY, 54);
    file.writeUInt16LE(segments.length, 56);
    file.writeUInt16LE(7, 60);
    file.writeUInt16LE(6, 62);
    for (const [index, [offset, size]] of segments.entries()) {
      file.writeBigUInt64LE(BigInt(offset), HEADER + index * ENTRY + 8);
      file.writeBigUInt64LE(BigInt(size), HEADER + index * ENTRY + 32);
    }
    return file;
  }

  test('ends with the segment that ends last', () => {
    const segments = [
      [200, 100],
      [190, 150],
      [0, 64],
    ] as const;
    expect(stripElf(programWith(1000, segments))).toHaveLength(340);
  });

  test('keeps its program headers, where they come after every segment', () => {
    expect(stripElf(programWith(1000, [[0, 10]]))).toHaveLength(HEADER + ENTRY);
  });

  test('has no sections afterwards, and is the same otherwise', () => {
    const file = programWith(1000, [[200, 100]]);
    const before = Buffer.from(file);
    const stripped = stripElf(file);
    const expected = Buffer.from(before.subarray(0, 300));
    expected.fill(0, 40, 48);
    expected.fill(0, 60, 64);
    expect(stripped.equals(expected)).toBe(true);
    expect(file.equals(before)).toBe(true);
  });

  test('of 32 bits, or of the other order of bytes, is refused', () => {
    for (const at of [4, 5]) {
      const file = programWith(1000, []);
      file[at] = at === 4 ? 1 : 2;
      expect(() => stripElf(file)).toThrow('not a 64-bit little-endian ELF file');
    }
  });
});
