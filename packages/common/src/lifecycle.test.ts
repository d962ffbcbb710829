import { EventEmitter } from 'node:events';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { Lifecycle, runProgram, stopAndExit } from './lifecycle.ts';
import type { Logger } from './logging.ts';

let seen: string[];
let logger: Logger;
let life: Lifecycle;

beforeEach(() => {
  seen = [];
  const warn = ({ part }: { part: string }, msg: string) => seen.push(`${msg}: ${part}`);
  logger = { warn } as unknown as Logger;
  life = new Lifecycle(logger);
});

test('what was started is stopped in reverse order, each to its end', async () => {
  life.onStop('first', () => void seen.push('first'));
  life.onStop('second', async () => {
    await Promise.resolve();
    seen.push('second');
  });
  await life.stop();
  expect(seen).toEqual(['second', 'first']);
});

test('the signal has aborted when the first part is stopped, and not before', async () => {
  life.onStop('part', () => void seen.push(String(life.signal.aborted)));
  expect(life.signal.aborted).toBe(false);
  await life.stop();
  expect(seen).toEqual(['true']);
});

test('a part that cannot be stopped is told, and does not keep the others', async () => {
  life.onStop('first', () => void seen.push('first'));
  life.onStop('second', () => Promise.reject(new Error('stuck')));
  await life.stop();
  expect(seen).toEqual(['Failed to stop a part cleanly: second', 'first']);
});

test('stopping twice stops once', async () => {
  life.onStop('part', () => void seen.push('part'));
  await Promise.all([life.stop(), life.stop()]);
  await life.stop();
  expect(seen).toEqual(['part']);
});

describe('the end of a program', () => {
  beforeEach(() => {
    vi.useFakeTimers();
    vi.spyOn(process, 'exit').mockImplementation((code) => void seen.push(`exit with ${code}`) as never);
    vi.spyOn(process, 'getActiveResourcesInfo').mockReturnValue(['Timeout']);
    const say = (...args: unknown[]) => seen.push(String(args.at(-1)));
    logger = { info: say, warn: say, fatal: say } as unknown as Logger;
  });

  afterEach(() => {
    vi.useRealTimers();
    vi.restoreAllMocks();
  });

  test('comes when all parts are stopped', async () => {
    life.onStop('part', () => void seen.push('part'));
    await stopAndExit(life, logger, 'SIGTERM');
    expect(seen).toEqual(['Stopping', 'part', 'Stopped', 'exit with 0']);
  });

  test('has the code that was given', async () => {
    await stopAndExit(life, logger, 'SIGTERM', 3);
    expect(seen.at(-1)).toBe('exit with 3');
  });

  test('comes after 4.5 s, whatever hangs', async () => {
    life.onStop('part', () => new Promise(() => {}));
    void stopAndExit(life, logger, 'SIGTERM', 3);
    await vi.advanceTimersByTimeAsync(4499);
    expect(seen).toEqual(['Stopping']);
    await vi.advanceTimersByTimeAsync(1);
    expect(seen).toEqual(['Stopping', 'Gave up waiting', 'exit with 3']);
  });

  test('comes with 1 where it cannot start, but not for what fails because it is being stopped', async () => {
    vi.spyOn(process, 'on').mockReturnThis();
    await runProgram(logger, () => Promise.reject(new Error('no')));
    expect(seen).toEqual(['Failed', 'exit with 1']);
    await runProgram(logger, async (starting) => {
      await starting.stop();
      throw new Error('no');
    });
    expect(seen).toHaveLength(2);
  });

  test.each([
    ['SIGTERM', ['Stopping', 'part', 'Stopped', 'exit with 0']],
    ['SIGINT', ['Stopping', 'part', 'Stopped', 'exit with 0']],
    ['uncaughtException', ['Failed', 'exit with 1']],
    ['unhandledRejection', ['Failed', 'exit with 1']],
  ])('comes by %s', async (event, expected) => {
    const program = new EventEmitter();
    vi.spyOn(process, 'on').mockImplementation((name, listener) => {
      program.on(name, listener);
      return process;
    });
    await runProgram(logger, async (running) => running.onStop('part', () => void seen.push('part')));
    expect(seen).toEqual([]);
    program.emit(event, new Error('no'));
    await vi.advanceTimersByTimeAsync(0);
    expect(seen).toEqual(expected);
  });
});
