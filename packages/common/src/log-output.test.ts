import { execFileSync } from 'node:child_process';
import { closeSync, constants, existsSync, mkdtempSync, openSync, readFileSync, readSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { droppedLogLines, openLogOutput } from './log-output.ts';

/** More than a pipe holds. */
const LONG = `${'x'.repeat(100_000)}\n`;
/** Enough to tell waiting from a machine that is slow for a moment. */
const LINES = 10;

let directory: string;
let droppedBefore: number;

beforeEach(() => {
  directory = mkdtempSync(path.join(tmpdir(), 'rollcall-log-output-'));
  droppedBefore = droppedLogLines();
});

afterEach(() => rmSync(directory, { recursive: true }));

const dropped = () => droppedLogLines() - droppedBefore;

test('lines go into a file one after the other, and none is dropped', () => {
  const file = path.join(directory, 'log');
  const fd = openSync(file, 'w');
  const output = openLogOutput(fd);
  expect([output('a\n'), output('b\n')]).toEqual([true, true]);
  closeSync(fd);
  expect(readFileSync(file, 'utf8')).toBe('a\nb\n');
  expect(dropped()).toBe(0);
});

test.runIf(existsSync('/dev/full'))('each line that a full disk does not take is dropped at once, and counted', () => {
  const fd = openSync('/dev/full', 'w');
  const output = openLogOutput(fd);
  const startMs = performance.now();
  for (let line = 0; line < LINES; line += 1) expect(output('a\n')).toBe(false);
  expect(performance.now() - startMs).toBeLessThan(LINES * 90);
  closeSync(fd);
  expect(dropped()).toBe(LINES);
});

test.runIf(existsSync('/dev/full'))(
  'nothing but a reader is waited for: the first line that a full disk refuses is dropped at once too',
  () => {
    const fd = openSync('/dev/full', 'w');
    const startMs = performance.now();
    for (let line = 0; line < LINES; line += 1) expect(openLogOutput(fd)('a\n')).toBe(false);
    expect(performance.now() - startMs).toBeLessThan(LINES * 90);
    closeSync(fd);
  },
);

describe('a pipe without a reader', () => {
  let pipe: number;
  let output: (line: string) => boolean;

  beforeEach(() => {
    const fifo = path.join(directory, 'fifo');
    execFileSync('sh', ['-c', 'mkfifo "$1"', 'sh', fifo]);
    // Both ends, and one that would wait.
    pipe = openSync(fifo, constants.O_RDWR);
    output = openLogOutput(pipe);
  });

  afterEach(() => closeSync(pipe));

  function takes(line: string): { written: boolean; ms: number } {
    const startMs = performance.now();
    return { written: output(line), ms: performance.now() - startMs };
  }

  function read(bytes: number): string {
    const buffer = Buffer.alloc(bytes);
    return buffer.toString('utf8', 0, readSync(pipe, buffer));
  }

  test('is waited for a tenth of a second, and then no more', () => {
    const first = takes(LONG);
    expect(first.written).toBe(false);
    expect(first.ms).toBeGreaterThanOrEqual(90);
    const startMs = performance.now();
    for (let line = 0; line < LINES; line += 1) expect(takes('b\n').written).toBe(false);
    expect(performance.now() - startMs).toBeLessThan(LINES * 90);
    expect(dropped()).toBe(1 + LINES);
  });

  test('gets the next line on a line of its own once there is room', () => {
    takes(LONG);
    const held = read(200_000);
    expect(held).toBe('x'.repeat(held.length));
    expect(takes('b\n').written).toBe(true);
    expect(takes('c\n').written).toBe(true);
    expect(read(100)).toBe('\nb\nc\n');
    expect(dropped()).toBe(1);
  });

  test('is waited for again after a line that got out at once', () => {
    takes(LONG);
    read(200_000);
    takes('b\n');
    expect(takes(LONG).ms).toBeGreaterThanOrEqual(90);
  });
});
