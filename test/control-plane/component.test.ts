import { mkdtempSync, rmSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Component, PortTakenError } from './component.ts';
import { isAlive } from './file-lock.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'rollcall-component-'));
});
afterEach(() => rmSync(dir, { recursive: true }));

function component(script: string, isReady: () => Promise<boolean> = async () => false): Component {
  const logFile = join(dir, 'log');
  return new Component({ name: 'thing', command: 'sh', args: ['-c', script], logFile, cwd: dir, isReady });
}

describe('Component', () => {
  it('tells a port that is taken from other failures', async () => {
    const taken = component('echo "listen tcp 127.0.0.1:1: bind: address already in use"; exit 1').start();
    await expect(taken).rejects.toBeInstanceOf(PortTakenError);
    const other = component('echo "no such thing"; exit 4').start();
    await expect(other).rejects.toThrow(/^thing ended \(\d\) before it was ready/);
  });

  it('reports a command that is not there', async () => {
    const missing = new Component({ ...component('').spec, command: '/nowhere/etcd' });
    await expect(missing.start()).rejects.toThrow(/^thing ended/);
  });

  it('starts again after a kill, with another process', async () => {
    const sleeper = component('exec sleep 60', async () => true);
    await sleeper.start();
    const first = sleeper.pid ?? 0;
    await sleeper.kill('SIGSTOP');
    expect(sleeper.pid).toBe(first);
    if (process.platform === 'linux') expect(await readFile(`/proc/${first}/stat`, 'utf8')).toContain(') T ');
    await sleeper.restart();
    expect(isAlive(first)).toBe(false);
    expect(sleeper.pid).not.toBe(first);
    await expect(sleeper.start()).rejects.toThrow('running already');
    await sleeper.kill('SIGTERM');
    expect(sleeper.pid).toBeUndefined();
  });
});
