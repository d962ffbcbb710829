import { execFileSync } from 'node:child_process';
import {
  closeSync,
  constants,
  existsSync,
  mkdtempSync,
  openSync,
  readFileSync,
  readSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest';
import { CodedError } from './coded-error.ts';
import { createLogger, humanLine, logLevelOf, silentLogger } from './logging.ts';

const directory = mkdtempSync(path.join(tmpdir(), 'rollcall-log-'));
const file = path.join(directory, 'log');
let fd: number;

beforeEach(() => {
  fd = openSync(file, 'w');
});
afterEach(() => closeSync(fd));
afterAll(() => rmSync(directory, { recursive: true }));

test('LOG_LEVEL has the values that Gitpod’s programs know', () => {
  const values = [undefined, '', 'info', 'TRACE', 'debug', 'warning', 'fatal', 'odd'];
  expect(values.map(logLevelOf)).toEqual(['info', 'info', 'info', 'debug', 'debug', 'warn', 'error', 'info']);
  const logger = createLogger({ json: true, verbose: false, level: 'warn', component: 'x', fd });
  logger.info('quiet');
  logger.warn('loud');
  expect(written()).toMatch(/^[^\n]*loud[^\n]*\n$/);
});

const written = () => readFileSync(file, 'utf8');

describe('a JSON log', () => {
  test('has one object a line, with time, level, component, message and fields', () => {
    const logger = createLogger({ json: true, verbose: false, component: 'agent', fd });
    logger.warn({ node: 'n' }, 'Lost it');
    logger.info('Found it');
    const lines = written().trimEnd().split('\n');
    expect(JSON.parse(lines[0] ?? '')).toEqual({
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      level: 'warn',
      component: 'agent',
      node: 'n',
      msg: 'Lost it',
    });
    expect(lines).toHaveLength(2);
  });

  test('shows code, fields and causes of an error', () => {
    const logger = createLogger({ json: true, verbose: false, component: 'agent', fd });
    const cause = new Error('in use');
    logger.error({ err: new CodedError('LISTEN_FAILED', 'Cannot listen', { cause, fields: { a: 1 } }) }, 'Failed');
    expect(JSON.parse(written()).err).toMatchObject({
      code: 'LISTEN_FAILED',
      fields: { a: 1 },
      message: expect.stringContaining('in use'),
    });
  });

  test('has debug lines only when it is verbose', () => {
    createLogger({ json: true, verbose: false, component: 'a', fd }).debug('quiet');
    createLogger({ json: true, verbose: true, component: 'a', fd }).debug('loud');
    expect(written()).not.toContain('quiet');
    expect(written()).toContain('loud');
  });
});

describe('a log for people', () => {
  test('has a line of time, level, message and fields', () => {
    createLogger({ json: false, verbose: false, component: 'agent', fd }).info({ node: 'n', count: 2 }, 'Saw it');
    expect(written()).toMatch(/^\d\d:\d\d:\d\d\.\d{3} INFO {2}Saw it node=n count=2\n$/);
  });

  test.each([
    ['a b', 'key="a b"'],
    ['a=b', 'key="a=b"'],
    ['line\nbreak', 'key="line\\nbreak"'],
    ['', 'key='],
    [['x', 1], 'key=["x",1]'],
    [null, 'key=null'],
    [{ message: 'Gone', stack: 'long' }, 'key="Gone"'],
  ])('writes %j without ambiguity, on one line', (value, expected) => {
    const line = humanLine(JSON.stringify({ time: '2026-01-01T12:00:00.000Z', level: 'warn', msg: 'M', key: value }));
    expect(line).toBe(`12:00:00.000 WARN  M ${expected}\n`);
  });
});

/** By whom a log is read may not be told by others what its terminal does. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;

describe('a log of what others wrote', () => {
  const evil = [
    ['an escape sequence', '\u001b[2J\u001b]0;title\u0007', '\\u001b[2J\\u001b]0;title\\u0007'],
    ['the one-byte form of one', '\u009b31m', '\\u{9b}31m'],
    ['a carriage return', 'kept\rINFO  forged', 'kept\\rINFO  forged'],
    ['a line break', 'kept\n12:00:00.000 INFO  forged', 'kept\\n12:00:00.000 INFO  forged'],
    ['NUL and DEL', 'a\u0000b\u007f', 'a\\u0000b\\u{7f}'],
    ['a turn of the direction of writing', 'a\u202egnp\u2066', 'a\\u{202e}gnp\\u{2066}'],
    ['what has no width', 'no\u200bde\u00ad\ufeff', 'no\\u{200b}de\\u{ad}\\u{feff}'],
    ['separators of lines', 'a\u2028b\u2029', 'a\\u{2028}b\\u{2029}'],
    ['a tag', 'a\u{e0041}', 'a\\u{e0041}'],
  ] as const;

  test.each(evil)('for people spells out in every field, key and message: %s', (_, text, spelled) => {
    createLogger({ json: false, verbose: false, component: 'agent', fd }).info(
      { evidence: text, [`key${text}`]: 1, list: [text], nested: { [text]: text }, err: new Error(text) },
      `Saw ${text}`,
    );
    const line = written();
    expect(line.endsWith('\n')).toBe(true);
    expect(line.slice(0, -1)).not.toMatch(UNSEEN);
    expect(line).toContain(`evidence="${spelled}"`);
  });

  test.each(evil)('in JSON escapes them so that they can be read back: %s', (_, text) => {
    createLogger({ json: true, verbose: false, component: 'agent', fd }).info(
      { evidence: text, [`key${text}`]: text },
      text,
    );
    expect(written().slice(0, -1)).not.toMatch(UNSEEN);
    expect(JSON.parse(written())).toMatchObject({ evidence: text, [`key${text}`]: text, msg: text });
  });
});

describe('a log that cannot be written', () => {
  test.runIf(existsSync('/dev/full')).each([true, false])('does not end the program (JSON: %s)', (json) => {
    const full = openSync('/dev/full', 'w');
    const logger = createLogger({ json, verbose: false, component: 'agent', fd: full });
    for (let i = 0; i < 1000; i += 1) logger.info('x'.repeat(1000));
    closeSync(full);
    logger.info('closed');
  });

  test('goes on where it can be written again, on a line of its own, without what was lost', () => {
    const other = path.join(directory, 'other');
    writeFileSync(other, '');
    const readOnly = openSync(other, 'r');
    const logger = createLogger({ json: false, verbose: false, component: 'agent', fd: readOnly });
    logger.info('lost');
    closeSync(readOnly);
    // The lowest free descriptor is handed out again.
    const writable = openSync(other, 'w');
    expect(writable).toBe(readOnly);
    logger.info('kept');
    logger.info('kept too');
    closeSync(writable);
    expect(readFileSync(other, 'utf8')).toMatch(
      /^\n\S+ INFO {2}kept\n\S+ WARN {2}Dropped log lines that could not be written lines=1\n\S+ INFO {2}kept too\n$/,
    );
  });
});

test.runIf(process.platform === 'linux')(
  'what was lost is told with the next line, where the line that tells it was lost as well',
  () => {
    const fifo = path.join(directory, 'fifo');
    execFileSync('sh', ['-c', 'mkfifo "$1"', 'sh', fifo]);
    const pipe = openSync(fifo, constants.O_RDWR);
    const read = (bytes: number) => {
      const buffer = Buffer.alloc(bytes);
      return buffer.toString('utf8', 0, readSync(pipe, buffer));
    };
    const logger = createLogger({ json: false, verbose: false, component: 'agent', fd: pipe });
    // More than a pipe holds; then there is room for one line of nearly a page.
    logger.info('x'.repeat(100_000));
    read(4096);
    logger.info('y'.repeat(4050));
    read(1_000_000);
    logger.info('again');
    expect(read(1_000_000)).toMatch(
      /INFO {2}again\n\S+ WARN {2}Dropped log lines that could not be written lines=2\n$/,
    );
    closeSync(pipe);
  },
);

test('a silent logger says nothing at any level', () => {
  expect(silentLogger().isLevelEnabled('fatal')).toBe(false);
});
