import type { Logger } from '@rollcall/common/logging.ts';
import { FakeClock } from '@rollcall/common/testing/fake-clock.ts';
import { beforeEach, describe, expect, test } from 'vitest';
import { HotplugHints } from './hotplug-hints.ts';

/** In the place of the native binding. */
class Emitter {
  static readonly made: Emitter[] = [];
  readonly listeners = new Map<'attach' | 'detach', () => void>();

  constructor() {
    Emitter.made.push(this);
  }

  addAttach = async (callback: () => void) => void this.listeners.set('attach', callback);
  addDetach = async (callback: () => void) => void this.listeners.set('detach', callback);
  removeAttach = async () => void this.listeners.delete('attach');
  removeDetach = async () => void this.listeners.delete('detach');
}

let clock: FakeClock;
let life: AbortController;
let logged: string[];
let scans: number;
let loads: number;

beforeEach(() => {
  clock = new FakeClock();
  life = new AbortController();
  logged = [];
  scans = 0;
  loads = 0;
  Emitter.made.length = 0;
});

async function start(change: { gate?: boolean; load?: () => Promise<unknown> } = {}): Promise<void> {
  const keep = (...args: unknown[]) => logged.push(String(args.at(-1)));
  const hints = new HotplugHints({
    clock,
    logger: { info: keep, debug: keep } as unknown as Logger,
    signal: life.signal,
    scanSoon: () => {
      scans += 1;
    },
    gate: () => change.gate ?? true,
    load: () => {
      loads += 1;
      return change.load?.() ?? Promise.resolve({ Emitter });
    },
  });
  hints.start();
  await clock.advance(0);
}

const listeners = () => Emitter.made[0]?.listeners;

describe('hints of USB devices', () => {
  test.each(['attach', 'detach'] as const)('have the bus scanned soon after an event of the kind %s', async (kind) => {
    await start();
    listeners()?.get(kind)?.();
    await clock.advance(20);
    expect(scans).toBe(1);
    expect(logged).toEqual(['Listening for USB devices being plugged']);
  });

  test('are not listened for where none can come', async () => {
    await start({ gate: false });
    expect([loads, Emitter.made.length]).toEqual([0, 0]);
  });

  test('are not listened for by an agent that ends', async () => {
    life.abort();
    await start();
    expect(loads).toBe(0);
  });

  test('are gone without where they cannot be had, which is told once', async () => {
    await start({ load: () => Promise.reject(new Error('no such package')) });
    life.abort();
    await clock.advance(1000);
    expect(logged).toEqual(['Went without hot-plug events of USB, which the periodic scan makes up for']);
  });

  test('end with the agent, also those that are waited for', async () => {
    await start();
    const onAttach = listeners()?.get('attach');
    onAttach?.();
    life.abort();
    await clock.advance(1000);
    expect(listeners()?.size).toBe(0);
    onAttach?.();
    await clock.advance(1000);
    expect([scans, clock.pendingTimers]).toEqual([0, 0]);
  });

  test('end when the agent ended while the package was loaded', async () => {
    const { promise, resolve } = Promise.withResolvers<unknown>();
    await start({ load: () => promise });
    life.abort();
    resolve({ Emitter });
    await clock.advance(0);
    expect(Emitter.made).toHaveLength(1);
    expect(listeners()?.size).toBe(0);
  });
});
