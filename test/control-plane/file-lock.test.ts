import { existsSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { withFileLock } from './file-lock.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'rollcall-lock-'));
});
afterEach(() => rmSync(dir, { recursive: true }));

describe('withFileLock', () => {
  it('lets one in after the other, also when the first one fails', async () => {
    const file = join(dir, 'lock');
    const order: string[] = [];
    const held = Promise.withResolvers<void>();
    const firstIsIn = Promise.withResolvers<void>();
    const first = withFileLock(file, async () => {
      order.push('first in');
      firstIsIn.resolve();
      await held.promise;
      order.push('first out');
      throw new Error('no luck');
    });
    await firstIsIn.promise;
    const second = withFileLock(
      file,
      async () => order.push('second'),
      () => held.resolve(),
    );
    await expect(first).rejects.toThrow('no luck');
    await second;
    expect(order).toEqual(['first in', 'first out', 'second']);
    expect(existsSync(file)).toBe(false);
  });

  it('respects a holder on another host until that one has been silent for a minute', async () => {
    const file = join(dir, 'lock');
    writeFileSync(file, JSON.stringify({ pid: 1, host: `not-${hostname()}` }));
    let waitedFor = '';
    const taken = withFileLock(
      file,
      async () => 'taken',
      (holder) => {
        waitedFor = holder;
        const longAgo = new Date(Date.now() - 61_000);
        utimesSync(file, longAgo, longAgo);
      },
    );
    expect(await taken).toBe('taken');
    expect(waitedFor).toContain(`on not-${hostname()}`);
  });

  it('takes over a lock file that was never finished', async () => {
    const file = join(dir, 'lock');
    writeFileSync(file, '{"pid":');
    expect(await withFileLock(file, async () => 'taken')).toBe('taken');
  });
});
