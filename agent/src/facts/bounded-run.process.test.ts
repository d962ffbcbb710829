import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { systemClock } from '@rollcall/common/clock.ts';
import { FakeClock } from '@rollcall/common/testing/fake-clock.ts';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { type BoundedRunOptions, runBounded } from './bounded-run.ts';

const stop = new AbortController();
const NODE = process.execPath;
const LIMIT = { timeout: 10_000, interval: 10 };

afterEach(() => {
  vi.unstubAllEnvs();
});

function run(script: string, options: Partial<BoundedRunOptions> = {}) {
  return runBounded({
    command: NODE,
    args: ['-e', script],
    limitMs: 10_000,
    outputMax: 1000,
    clock: systemClock,
    signal: stop.signal,
    ...options,
  });
}

/** How many processes have exactly this command line; a zombie has none. */
function running(...commandLine: string[]): number {
  const wanted = commandLine.map((part) => `${part}\0`).join('');
  return readdirSync('/proc').filter((pid) => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, 'utf8') === wanted;
    } catch {
      return false;
    }
  }).length;
}

describe('runBounded', { timeout: 30_000 }, () => {
  test('gives what the program printed', async () => {
    const { output, gone } = run('process.stdout.write("done")');
    expect(await output).toBe('done');
    await gone;
  });

  test('tells the program nothing of the environment', async () => {
    vi.stubEnv('SECRET', 'x');
    vi.stubEnv('NODE_OPTIONS', '--require=/nowhere.js');
    const { output } = run('process.stdout.write(Object.keys(process.env).sort().join())');
    expect(await output).toBe('LC_ALL,PATH');
  });

  test.each([
    ['fails', 'process.stderr.write("no memory"); process.exitCode = 3', /Ended with 3: no memory/],
    ['crashes', 'process.kill(process.pid, "SIGSEGV")', /Ended with SIGSEGV/],
    ['prints too much', 'for (;;) process.stdout.write("x".repeat(1000))', /Printed more than 1000 characters/],
    [
      'complains without end',
      'for (let i = 0; i < 1e4; i++) process.stderr.write("x".repeat(999)); process.exit(1)',
      /^Ended with 1: x{1000}$/,
    ],
  ])('rejects when the program %s', async (_, script, reason) => {
    const { output, gone } = run(script);
    await expect(output).rejects.toThrow(reason);
    await gone;
  });

  test('rejects when there is no such program', async () => {
    const { output, gone } = run('', { command: '/nowhere/node' });
    await expect(output).rejects.toThrow(/ENOENT/);
    await gone;
  });

  test('rejects, and is no danger to the agent, when no file descriptor is left', () => {
    const script = `
      import { openSync } from 'node:fs';
      import { systemClock } from '@rollcall/common/clock.ts';
      import { runBounded } from '${import.meta.resolve('./bounded-run.ts')}';
      try { for (;;) openSync('/dev/null', 'r'); } catch {}
      const options = { limitMs: 60_000, outputMax: 1000, clock: systemClock, signal: new AbortController().signal };
      const { output, gone } = runBounded({ command: process.execPath, args: ['-v'], ...options });
      await output.catch(({ code }) => process.exitCode = code === 'EMFILE' ? 3 : 4);
      await gone;
    `;
    const agent = ['-c', 'ulimit -n 60; exec "$@"', 'sh', NODE, '--input-type=module', '-e', script];
    const { status, stderr } = spawnSync('sh', agent, { cwd: import.meta.dirname, timeout: 20_000, encoding: 'utf8' });
    expect({ status, stderr }).toEqual({ status: 3, stderr: '' });
  });

  test('ends a program that takes too long, and what it started', async () => {
    const clock = new FakeClock();
    const seconds = `600.${process.pid}`;
    const hangs = `require("node:child_process").execSync("sleep ${seconds}; true")`;
    const { output, gone } = run(hangs, { clock, limitMs: 30_000 });
    await vi.waitFor(() => expect(running('sleep', seconds)).toBe(1), LIMIT);
    void clock.advance(30_000);
    await expect(output).rejects.toThrow(/Took more than 30000 ms/);
    await gone;
    await vi.waitFor(() => expect(running('sleep', seconds)).toBe(0), LIMIT);
    expect(clock.pendingTimers).toBe(0);
  });

  test('ends what a program that crashed has left behind', async () => {
    const seconds = `601.${process.pid}`;
    const leaves = `require("node:child_process").spawn("sleep", ["${seconds}"], { stdio: "inherit" })`;
    const { output, gone } = run(`${leaves}.on("spawn", () => process.abort())`);
    await expect(output).rejects.toThrow(/SIGABRT/);
    await gone;
    await vi.waitFor(() => expect(running('sleep', seconds)).toBe(0), LIMIT);
  });

  test('ends the program when the signal aborts, also when that was before', async () => {
    const stopped = new AbortController();
    const during = run('for (;;);', { signal: stopped.signal });
    stopped.abort();
    await expect(during.output).rejects.toThrow(/Stopped/);
    await during.gone;
    const after = run('for (;;);', { signal: stopped.signal });
    await expect(after.output).rejects.toThrow(/Stopped/);
    await after.gone;
  });
});
