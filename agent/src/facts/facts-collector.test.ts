import { getEventListeners } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { machine, release, tmpdir } from 'node:os';
import path from 'node:path';
import { silentLogger } from '@rollcall/common/logging.ts';
import { FakeClock } from '@rollcall/common/testing/fake-clock.ts';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { FactsCollector } from './facts-collector.ts';

const LIMIT = { timeout: 15_000, interval: 10 };
const HOUR_MS = 3_600_000;
const RETRY_MS = 300_000;

let directory: string;
let clock: FakeClock;
let stop: AbortController;
let readings: string[];
let tookMs: number[];
let warnings: string[];
let causes: unknown[];
let news: string[];
let changes: number;

beforeEach(() => {
  directory = mkdtempSync(path.join(tmpdir(), 'rollcall-facts-'));
  clock = new FakeClock();
  stop = new AbortController();
  readings = [];
  tookMs = [];
  warnings = [];
  causes = [];
  news = [];
  changes = 0;
});

afterEach(() => {
  stop.abort();
  rmSync(directory, { recursive: true });
});

/** A collector whose child runs what the test has put into a file, unless it is to be the real one. */
function startCollector({ real = false } = {}): FactsCollector {
  const logger = silentLogger();
  logger.warn = (fields: unknown, message?: string) => {
    warnings.push(String(message));
    causes.push((fields as { err: Error }).err.cause);
  };
  logger.info = (message: unknown) => void news.push(String(message));
  const collector = new FactsCollector({
    clock,
    logger,
    metrics: {
      observeReading(name, outcome, ms) {
        readings.push(`${name} ${outcome}`);
        tookMs.push(ms);
      },
    },
    signal: stop.signal,
    onChange: () => {
      changes += 1;
    },
    ...(real ? {} : { program: { command: process.execPath, args: [script()] } }),
  });
  collector.start();
  return collector;
}

function script(): string {
  return path.join(directory, 'child.cjs');
}

function childPrints(output: string): void {
  writeFileSync(script(), `process.stdout.write(${JSON.stringify(output)})`);
}

/** Waits until so many readings are done and the collector pauses: only the timer of its pause is left. */
async function afterReadings(...outcomes: string[]): Promise<void> {
  await vi.waitFor(() => expect(readings).toEqual(outcomes.map((outcome) => `facts ${outcome}`)), LIMIT);
  await vi.waitFor(() => expect(clock.pendingTimers).toBe(1), LIMIT);
}

describe('FactsCollector', { timeout: 30_000 }, () => {
  test('reads the facts of this machine by a child of its own', async () => {
    const collector = startCollector({ real: true });
    expect(collector.facts()).toBeUndefined();
    await afterReadings('read');
    expect(collector.facts()).toMatchObject({
      architecture: machine(),
      kernel: release(),
      'cpu-threads': expect.stringMatching(/^[1-9]\d*$/),
      'memory-total-bytes': expect.stringMatching(/^[1-9]\d{7,}$/),
    });
    expect(changes).toBe(1);
  });

  test('reads the same twice, so that no report is sent for nothing', async () => {
    startCollector({ real: true });
    await afterReadings('read');
    void clock.advance(HOUR_MS);
    await afterReadings('read', 'read');
    expect(changes).toBe(1);
  });

  test('reads again every hour and reports a change', async () => {
    childPrints('{"kernel":"6.1"}');
    const collector = startCollector();
    await afterReadings('read');
    childPrints('{"kernel":"6.2"}');
    await clock.advance(HOUR_MS - 1);
    expect(collector.facts()).toEqual({ kernel: '6.1' });
    void clock.advance(1);
    await afterReadings('read', 'read');
    expect(collector.facts()).toEqual({ kernel: '6.2' });
    expect(changes).toBe(2);
    expect(tookMs).toEqual([0, 0]);
    expect(news).toEqual([]);
    // The one listener of the pause: a reading leaves none, since there will be thousands of readings.
    expect(getEventListeners(stop.signal, 'abort')).toHaveLength(1);
  });

  test('takes all that a child may print, and nothing of one that prints more', async () => {
    childPrints('{"kernel":"6.1"}'.padEnd(65_536));
    const collector = startCollector();
    await afterReadings('read');
    childPrints('{"kernel":"6.2"}'.padEnd(65_537));
    void clock.advance(HOUR_MS);
    await afterReadings('read', 'failed');
    expect(collector.facts()).toEqual({ kernel: '6.1' });
  });

  test.each([
    ['garbage', 'process.stdout.write("garbage")'],
    ['nothing', ''],
    ['too much', 'for (;;) process.stdout.write(" ".repeat(65536))'],
    ['facts and then crashes', 'process.stdout.write("{}"); process.abort()'],
  ])('keeps the last facts and warns once when the child prints %s', async (_, content) => {
    childPrints('{"kernel":"6.1"}');
    const collector = startCollector();
    await afterReadings('read');
    writeFileSync(script(), content);
    void clock.advance(HOUR_MS);
    await afterReadings('read', 'failed');
    expect(warnings).toEqual(['Kept the facts that were known before']);
    void clock.advance(RETRY_MS);
    await afterReadings('read', 'failed', 'failed');
    expect(collector.facts()).toEqual({ kernel: '6.1' });
    expect(warnings).toEqual(['Kept the facts that were known before']);
    expect(changes).toBe(1);
  });

  test('tells once it knows that there are no facts', async () => {
    childPrints('{}');
    const collector = startCollector();
    await afterReadings('read');
    expect(collector.facts()).toEqual({});
    expect(changes).toBe(1);
  });

  test('tries again five minutes after a failure, and knows nothing until then', async () => {
    writeFileSync(script(), 'process.stderr.write("no memory"); process.exitCode = 1');
    const collector = startCollector();
    await afterReadings('failed');
    expect(causes).toEqual([new Error('Ended with 1: no memory')]);
    expect(collector.facts()).toBeUndefined();
    childPrints('{"kernel":"6.1"}');
    void clock.advance(RETRY_MS);
    await afterReadings('failed', 'read');
    expect(collector.facts()).toEqual({ kernel: '6.1' });
    expect(news).toEqual(['Read the facts about the machine again']);
  });

  test('ends a child that hangs after half a minute', async () => {
    writeFileSync(script(), `require('node:fs').writeFileSync(__dirname + '/pid', String(process.pid)); for (;;);`);
    startCollector();
    const pid = await childPid();
    void clock.advance(30_000);
    await afterReadings('failed');
    expect(existsSync(`/proc/${pid}`)).toBe(false);
    expect(tookMs).toEqual([30_000]);
  });

  test('ends the child with the agent and reads no more', async () => {
    writeFileSync(script(), `require('node:fs').writeFileSync(__dirname + '/pid', String(process.pid)); for (;;);`);
    startCollector();
    const pid = await childPid();
    stop.abort();
    // Also while the child, which may hang in the kernel, is still there.
    expect(clock.pendingTimers).toBe(0);
    await vi.waitFor(() => expect(existsSync(`/proc/${pid}`)).toBe(false), LIMIT);
    await clock.advance(2 * HOUR_MS);
    expect(clock.pendingTimers).toBe(0);
    expect([readings, warnings, changes]).toEqual([[], [], 0]);
  });
});

function childPid(): Promise<string> {
  return vi.waitFor(() => {
    const pid = readFileSync(path.join(directory, 'pid'), 'utf8');
    expect(pid).toMatch(/^\d+$/);
    return pid;
  }, LIMIT);
}
