import { spawn } from 'node:child_process';
import path from 'node:path';
import { silentLogger } from '@rollcall/common/logging.ts';
import { FakeClock } from '@rollcall/common/testing/fake-clock.ts';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { HotplugHints } from './hotplug-hints.ts';

const MODULE = path.join(import.meta.dirname, 'hotplug-hints.ts');
const GATE = path.join(import.meta.dirname, 'hotplug-gate.ts');
const REPO = path.resolve(import.meta.dirname, '../../../..');
const LIMIT = { timeout: 20_000, interval: 10 };

let clock: FakeClock;
let stop: AbortController;
let scans: number;
let logged: string[];

beforeEach(() => {
  clock = new FakeClock();
  stop = new AbortController();
  scans = 0;
  logged = [];
});

/** What the native binding looks like, with a bus that the test makes up. */
class Emitter {
  static current: Emitter | undefined;
  attach: (() => void) | undefined;
  detach: (() => void) | undefined;

  constructor() {
    Emitter.current = this;
  }

  async addAttach(callback: () => void): Promise<void> {
    this.attach = callback;
  }

  async addDetach(callback: () => void): Promise<void> {
    this.detach = callback;
  }

  async removeAttach(): Promise<void> {
    this.attach = undefined;
  }

  async removeDetach(): Promise<void> {
    this.detach = undefined;
  }
}

function startHints(load: () => Promise<unknown>, gate = true) {
  const logger = silentLogger();
  for (const level of ['info', 'debug'] as const) {
    logger[level] = (fields: unknown, message?: string) =>
      void logged.push(`${level}: ${typeof fields === 'string' ? fields : message}`);
  }
  new HotplugHints({
    clock,
    logger,
    signal: stop.signal,
    scanSoon: () => {
      scans += 1;
    },
    gate: () => gate,
    load,
  }).start();
}

describe('HotplugHints', () => {
  test('asks for two scans when a device comes, and again when it goes', async () => {
    startHints(async () => ({ Emitter }));
    await vi.waitFor(() => expect(logged).toEqual(['debug: Listening for USB devices being plugged']), LIMIT);
    Emitter.current?.attach?.();
    await clock.advance(1000);
    expect(scans).toBe(2);
    Emitter.current?.detach?.();
    await clock.advance(1000);
    expect(scans).toBe(4);
  });

  test('lets go of the bus and asks for nothing more once it is stopped', async () => {
    startHints(async () => ({ Emitter }));
    await vi.waitFor(() => expect(logged).toHaveLength(1), LIMIT);
    const { attach } = Emitter.current ?? {};
    attach?.();
    stop.abort();
    attach?.();
    await clock.advance(1000);
    expect(scans).toBe(0);
    expect(Emitter.current).toMatchObject({ attach: undefined, detach: undefined });
  });

  test('does not load the package where there can be no events', async () => {
    const load = vi.fn(async () => ({ Emitter }));
    startHints(load, false);
    await clock.advance(1000);
    expect(load).not.toHaveBeenCalled();
    expect(logged).toEqual([]);
  });

  test.each<[string, () => Promise<unknown>]>([
    ['is not installed', () => Promise.reject(new Error('Cannot find package'))],
    ['is something else', async () => ({})],
    ['does not start', async () => ({ Emitter: refusing('constructor') })],
    ['cannot watch', async () => ({ Emitter: refusing('addAttach') })],
    ['can watch only half', async () => ({ Emitter: refusing('addDetach') })],
  ])('says once that there are no hints when the package %s', async (_, load) => {
    startHints(load);
    await clock.advance(1000);
    expect(logged).toEqual(['info: Went without hot-plug events of USB, which the periodic scan makes up for']);
  });

  test('delays nothing when the package never answers', async () => {
    startHints(() => new Promise(() => {}));
    await clock.advance(1000);
    expect(logged).toEqual([]);
    expect(clock.pendingTimers).toBe(0);
  });
});

function refusing(where: 'constructor' | 'addAttach' | 'addDetach') {
  const refuse = () => Promise.reject(new Error('watch devices error'));
  return class extends Emitter {
    constructor() {
      super();
      if (where === 'constructor') throw new Error('watch devices error');
    }

    override addAttach = where === 'addAttach' ? refuse : async () => {};
    override addDetach = where === 'addDetach' ? refuse : async () => {};
  };
}

/** Runs a program like the agent, which exits with 1 at any uncaught error, and returns its exit code and output. */
function survive(script: string, openFilesMax = 1000): Promise<{ code: number | null; output: string }> {
  const program = `
    import { closeSync, openSync } from 'node:fs';
    import { createLogger } from '@rollcall/common/logging.ts';
    import { runProgram } from '@rollcall/common/lifecycle.ts';
    import { systemClock as clock } from '@rollcall/common/clock.ts';
    import { canHearHotplug } from ${JSON.stringify(GATE)};
    import { HotplugHints } from ${JSON.stringify(MODULE)};
    const logger = createLogger({ json: true, verbose: true, component: 'test' });
    await runProgram(logger, async ({ signal }) => {
      const gate = () => canHearHotplug({ sysfsRoot: '/sys', hostIp: '127.0.0.1' });
      const options = { clock, logger, signal, gate, scanSoon: () => logger.info('Hint') };
      ${script}
      setTimeout(() => { logger.info('Alive'); process.kill(process.pid, 'SIGTERM'); }, 1000);
    });
  `;
  const node = [process.execPath, '--input-type=module-typescript', '-e', program];
  const child = spawn('/bin/sh', ['-c', `ulimit -n ${openFilesMax}; exec "$@"`, 'sh', ...node], {
    cwd: path.join(REPO, 'agent'),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  child.stdout.on('data', (chunk) => {
    output += chunk;
  });
  child.stderr.on('data', (chunk) => {
    output += chunk;
  });
  return new Promise((resolve) => child.on('close', (code) => resolve({ code, output })));
}

describe('a process with the real package', { timeout: 30_000 }, () => {
  test('goes on where the gate is as it is', async () => {
    const { code, output } = await survive('new HotplugHints(options).start();');
    expect(output).toContain('Alive');
    expect(code).toBe(0);
  });

  test('goes on where the gate is forced open, with or without a bus', async () => {
    const { code, output } = await survive('new HotplugHints({ ...options, gate: () => true }).start();');
    expect(output).toContain('Listening for USB devices being plugged');
    expect(output).toContain('Alive');
    expect(code).toBe(0);
  });

  test('goes on when the package refuses to watch, here for want of file descriptors', async () => {
    const script = `
      const load = async () => {
        const binding = await import('usb/index.js');
        const taken = [];
        try { for (;;) taken.push(openSync('/dev/null')); } catch {}
        setTimeout(() => taken.forEach((fd) => closeSync(fd)), 500);
        return binding;
      };
      new HotplugHints({ ...options, gate: () => true, load }).start();
    `;
    const { code, output } = await survive(script, 100);
    expect(output).toContain('Went without hot-plug events of USB');
    expect(output).toContain('watch devices error');
    expect(output).toContain('Alive');
    expect(code).toBe(0);
  });
});
