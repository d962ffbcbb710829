import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { Lifecycle } from './lifecycle.ts';
import { silentLogger } from './logging.ts';

describe('Lifecycle', () => {
  test('stops in reverse order, each part to its end, after the signal', async () => {
    const life = new Lifecycle(silentLogger());
    const order: string[] = [];
    life.signal.addEventListener('abort', () => order.push('signal'));
    life.onStop('first', () => void order.push('first'));
    life.onStop('second', async () => {
      await Promise.resolve();
      order.push('second');
    });
    await life.stop();
    expect(order).toEqual(['signal', 'second', 'first']);
  });

  test('stops the others when one fails', async () => {
    const life = new Lifecycle(silentLogger());
    const order: string[] = [];
    life.onStop('good', () => void order.push('good'));
    life.onStop('rejects', () => Promise.reject(new Error('no')));
    life.onStop('throws', () => {
      throw new Error('no');
    });
    await life.stop();
    expect(order).toEqual(['good']);
  });

  test('stops once, however often it is asked', async () => {
    const life = new Lifecycle(silentLogger());
    let stops = 0;
    life.onStop('part', () => {
      stops += 1;
    });
    await Promise.all([life.stop(), life.stop()]);
    expect(stops).toBe(1);
  });
});

describe('a program', () => {
  const children: ChildProcess[] = [];

  afterEach(() => {
    for (const child of children.splice(0)) child.kill('SIGKILL');
  });

  /** Runs a program whose `start` has this body, and collects what it logs. */
  function run(body: string) {
    const url = (name: string) => JSON.stringify(path.join(import.meta.dirname, name));
    const source = `
      import { runProgram } from ${url('lifecycle.ts')};
      import { createLogger } from ${url('logging.ts')};
      const logger = createLogger({ json: true, verbose: false, component: 'test' });
      await runProgram(logger, async (life) => { ${body}; logger.info('Started'); });
    `;
    const argv = ['--input-type=module-typescript', '--eval', source];
    const child = spawn(process.execPath, argv, { stdio: ['ignore', 'pipe', 'inherit'], env: {} });
    children.push(child);
    let text = '';
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
    });
    const exit = new Promise<number | null>((resolve) => child.on('close', resolve));
    const messages = () =>
      text
        .split('\n')
        .slice(0, -1)
        .map((line) => JSON.parse(line).msg as string);
    const started = () => vi.waitFor(() => expect(messages()).toContain('Started'), { timeout: 10_000 });
    return { child, exit, messages, started, text: () => text };
  }

  test.each(['SIGTERM', 'SIGINT'] as const)('is stopped by %s in reverse order, and exits with 0', async (signal) => {
    const { child, exit, messages, started } = run(`
      life.onStop('a', () => logger.info('a'));
      life.onStop('b', () => logger.info('b'));
    `);
    await started();
    child.kill(signal);
    expect(await exit).toBe(0);
    expect(messages()).toEqual(['Started', 'Stopping', 'b', 'a', 'Stopped']);
  });

  test('runs until it is stopped, even if nothing is open', async () => {
    // A timer of the system clock keeps no process alive: only a program that runs on gets to see it.
    const { messages } = run(`
      const { systemClock } = await import(${JSON.stringify(path.join(import.meta.dirname, 'clock.ts'))});
      systemClock.after(50, () => logger.info('Still here'));
    `);
    await vi.waitFor(() => expect(messages()).toContain('Still here'), { timeout: 10_000 });
  });

  test('exits with 0 within 5 s when a part does not come to an end', async () => {
    const { child, exit, messages, started, text } = run(`life.onStop('stuck', () => new Promise(() => {}))`);
    await started();
    const startMs = performance.now();
    child.kill('SIGTERM');
    expect(await exit).toBe(0);
    expect(performance.now() - startMs).toBeLessThan(5000);
    expect(messages().at(-1)).toBe('Gave up waiting');
    expect(text()).toContain('STOP_TIMED_OUT');
  }, 15_000);

  test.each([
    ['is stopped', 'SIGTERM' as const, 0],
    ['fails', 'SIGUSR2' as const, 1],
  ])(
    'that %s exits although a thread waits for a file for good',
    async (_what, signal, code) => {
      const directory = mkdtempSync(path.join(tmpdir(), 'rollcall-lifecycle-'));
      onTestFinished(() => rmSync(directory, { recursive: true }));
      const fifo = path.join(directory, 'fifo');
      execFileSync('mkfifo', [fifo]);
      const { child, exit, messages, started } = run(`
      process.getBuiltinModule('node:fs').open(${JSON.stringify(fifo)}, 'r', () => logger.info('Opened'));
      process.on('SIGUSR2', () => { throw new Error('no') });
      process.on('exit', (code) => logger.info('exit ' + code));
    `);
      await started();
      const startMs = performance.now();
      child.kill(signal);
      expect(await exit).toBe(code);
      expect(performance.now() - startMs).toBeLessThan(5000);
      expect(messages().at(-1)).toBe(`exit ${code}`);
    },
    15_000,
  );

  test.each([
    ['cannot start', `throw new Error('no')`],
    ['throws later', `setTimeout(() => { throw new Error('no'); })`],
    ['rejects later', `setTimeout(() => Promise.reject(new Error('no')))`],
  ])('that %s logs the error and exits with 1', async (_what, body) => {
    const { exit, messages } = run(body);
    expect(await exit).toBe(1);
    expect(messages().at(-1)).toBe('Failed');
  });
});
