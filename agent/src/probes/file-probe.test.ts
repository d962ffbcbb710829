import { mkdirSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { FakeClock } from '@rollcall/common/testing/fake-clock.ts';
import { describe, expect, it } from 'vitest';
import { ProbePaths } from './probe-paths.ts';
import { openLineFor } from './testing/ask-once.ts';
import { within } from './testing/limits.ts';
import { temporaryDirectory } from './testing/local-files.ts';
import type { ProbeTools } from './types.ts';

/** A file that was written to just now, and who looks at it. */
function watched(
  settings: { maxAge?: string; newerThan?: string; expectedFirstLine?: string } = {},
  tools: Partial<ProbeTools> = {},
) {
  const directory = temporaryDirectory();
  const file = path.join(directory, 'file');
  const clock = new FakeClock();
  const write = (text = '') => {
    writeFileSync(file, text);
    utimesSync(file, clock.now() / 1000, clock.now() / 1000);
  };
  write();
  const line = openLineFor(
    { kind: 'file', path: file, ...settings },
    { clock, paths: new ProbePaths([directory]), ...tools },
  )(() => {});
  const look = async () => {
    const { verdict, evidence } = await line.ask({ path: file }, within(5000), true);
    return `${verdict}: ${evidence.replace(file, 'FILE')}`;
  };
  return { file, directory, clock, write, look };
}

describe('a probe of a file', () => {
  it('is healthy while the file is there, and has proof when it is not', async () => {
    const { file, look, write } = watched();
    expect(await look()).toBe('healthy: file FILE is there');
    rmSync(file);
    expect(await look()).toBe('hard: file FILE is not there (ENOENT)');
    write();
    expect(await look()).toBe('healthy: file FILE is there');
  });

  it('is soft when the file grows old, until it is written again', async () => {
    const { clock, look, write } = watched({ maxAge: '1m' });
    await clock.advance(60_000);
    expect(await look()).toBe('healthy: file FILE is fresh');
    await clock.advance(1);
    expect(await look()).toBe('soft: file FILE was not written to for more than 60 s');
    await clock.advance(10_000);
    expect(await look()).toBe('soft: file FILE was not written to for more than 60 s');
    write();
    expect(await look()).toBe('healthy: file FILE is fresh');
  });

  it('is soft when the file grows old, also one that was written while the clock was ahead', async () => {
    const { clock, look, write } = watched({ maxAge: '1m' });
    clock.jumpWallClock(86_400_000);
    write();
    clock.jumpWallClock(-86_400_000);
    expect(await look()).toBe('healthy: file FILE is fresh');
    await clock.advance(60_001);
    expect(await look()).toBe('soft: file FILE was not written to for more than 60 s');
    write();
    expect(await look()).toBe('healthy: file FILE is fresh');
  });

  it('is soft while what is there was written before the node started', async () => {
    let upMs = 60_000;
    const { clock, look, write } = watched({ newerThan: 'Boot' }, { uptimeMs: () => upMs });
    expect(await look()).toBe('healthy: file FILE is fresh');
    await clock.advance(10_000);
    upMs = 5000;
    expect(await look()).toBe('soft: file FILE was not written to since the node started');
    write();
    expect(await look()).toBe('healthy: file FILE is fresh');
  });

  it('takes the time since the start of the node from the kernel', async () => {
    const { look } = watched({ newerThan: 'Boot' });
    expect(await look()).toBe('healthy: file FILE is fresh');
  });

  it('is soft while what is there was written before the pod of the service started', async () => {
    const podStart = new Date(new FakeClock().now() + 30_000).toISOString();
    const { clock, look, write } = watched({ newerThan: 'Pod' }, { podStart });
    expect(await look()).toBe('soft: file FILE was not written to since the pod started');
    await clock.advance(30_000);
    write();
    expect(await look()).toBe('healthy: file FILE is fresh');
    expect(() => watched({ newerThan: 'Pod' })).toThrow('the coordinator does not say when its pod started');
  });

  it('says its first line where that is not the expected one', async () => {
    const { look, write } = watched({ expectedFirstLine: 'ok' });
    expect(await look()).toBe('soft: file FILE has no first line');
    write('ok\nall the rest');
    expect(await look()).toBe('healthy: file FILE says what is expected');
    write('ok\r\n');
    expect(await look()).toBe('healthy: file FILE says what is expected');
    write('disk 3 is \u001b[31mslow\nok');
    expect(await look()).toBe('soft: file FILE says: disk 3 is \\u{1b}[31mslow');
    write('x'.repeat(5000));
    expect(await look()).toBe(`soft: file FILE says: ${'x'.repeat(200)}`);
  });

  it('is judged by its age before its line', async () => {
    const { look, write, clock } = watched({ maxAge: '1s', expectedFirstLine: 'ok' });
    write('ok');
    await clock.advance(1001);
    expect(await look()).toBe('soft: file FILE was not written to for more than 1 s');
  });

  it('does not take a directory, or what a link shows of elsewhere, for the file', async () => {
    const { file, look } = watched();
    rmSync(file);
    mkdirSync(file);
    expect(await look()).toBe('hard: file FILE is not a regular file');
    rmSync(file, { recursive: true });
    symlinkSync('/etc/hostname', file);
    expect(await look()).toBe('hard: file FILE is a link that leads out of --probe-paths');
  });

  it('is refused with a line that is none', () => {
    expect(() => openLineFor({ kind: 'file', path: '/x', expectedFirstLine: 1 })).toThrow(
      'its expectedFirstLine is not valid',
    );
  });

  it.each([0, -1, '60', null])('is refused with an age that is none: %j', (maxAge) => {
    expect(() => openLineFor({ kind: 'file', path: '/x', maxAge })).toThrow('its maxAge is not valid');
  });
});
