import { spawnSync } from 'node:child_process';
import { chmodSync, chownSync, renameSync, rmSync, unlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ProbePaths } from './probe-paths.ts';
import { openLineFor } from './testing/ask-once.ts';
import { startChildService } from './testing/child-service.ts';
import { eventually, within } from './testing/limits.ts';
import { listenAt, temporaryDirectory } from './testing/local-files.ts';
import { createRawServer } from './testing/servers.ts';

function watched() {
  const directory = temporaryDirectory();
  const file = path.join(directory, 'socket');
  let lost = 0;
  const line = openLineFor(
    { kind: 'unix', path: file },
    { paths: new ProbePaths([directory]) },
  )(() => {
    lost += 1;
  });
  onTestFinished(() => line.release());
  const ask = async (fresh = true) => {
    const { verdict, evidence } = await line.ask({ path: file }, within(5000), fresh);
    return `${verdict}: ${evidence.replace(file, 'SOCKET')}`;
  };
  return { file, line, ask, hold: () => line.hold({ path: file }), lost: () => lost };
}

const silent = () => createRawServer((socket) => socket.resume());

const ACCEPTED = 'healthy: unix SOCKET accepted the connection';

describe('a probe of a Unix socket', () => {
  it('is healthy when the socket takes a connection, and takes the idle one for an answer in between', async () => {
    const { file, ask, hold } = watched();
    const server = await listenAt(file, silent());
    expect(await ask()).toBe(ACCEPTED);
    hold();
    await eventually(() => expect(server.accepted()).toBe(2));
    expect(await ask(false)).toBe(ACCEPTED);
    expect(await ask()).toBe(ACCEPTED);
    await eventually(() => expect(server.accepted()).toBe(3));
  });

  it('has proof of a socket file without a listener, of none, and of what is no socket', async () => {
    const { file, ask } = watched();
    expect(await ask()).toBe('hard: unix SOCKET is not there (ENOENT)');
    const service = await startChildService('tcp', 511, file);
    onTestFinished(service.end);
    expect(await ask()).toBe(ACCEPTED);
    await service.end();
    expect(await ask()).toBe('hard: unix SOCKET has no listener (ECONNREFUSED)');
    rmSync(file);
    writeFileSync(file, '');
    expect(await ask()).toBe('hard: unix SOCKET is not a socket');
  });

  it('holds nothing before a socket was found, and after it was let go', async () => {
    const { file, line, ask, hold, lost } = watched();
    hold();
    expect(await ask()).toBe('hard: unix SOCKET is not there (ENOENT)');
    hold();
    const server = await listenAt(file, silent());
    expect(await ask()).toBe(ACCEPTED);
    line.release();
    hold();
    expect(await ask()).toBe(ACCEPTED);
    await eventually(() => expect(server.accepted()).toBe(2));
    // Those who connect are taken in order.
    expect([await ask(), lost()]).toEqual([ACCEPTED, 0]);
    await eventually(() => expect(server.accepted()).toBe(3));
  });

  it('is told at once when the process dies', async () => {
    const { file, ask, hold, lost } = watched();
    const service = await startChildService('tcp', 511, file);
    onTestFinished(service.end);
    expect(await ask()).toBe(ACCEPTED);
    hold();
    await eventually(async () => expect(await ask(false)).toBe(ACCEPTED));
    service.signal('SIGKILL');
    await eventually(() => expect(lost()).toBe(1));
    // The kernel closes what a process had open one after the other: the listener may be there a moment longer.
    await eventually(async () => expect(await ask()).toMatch(/^hard: /));
  });

  it('ends the idle connection when the socket file was replaced, and asks who is there now', async () => {
    const { file, ask, hold, lost } = watched();
    const old = await listenAt(file, silent());
    await ask();
    hold();
    await eventually(() => expect(old.accepted()).toBe(2));
    const successor = await listenAt(`${file}.new`, silent());
    renameSync(`${file}.new`, file);
    expect(await ask(false)).toBe(ACCEPTED);
    await eventually(() => expect([old.connections.size, successor.accepted()]).toEqual([0, 1]));
    hold();
    await eventually(() => expect(successor.connections.size).toBe(1));
    expect(lost()).toBe(0);
  });

  it('has proof when the file is deleted under a process that goes on', async () => {
    const { file, ask, hold } = watched();
    const server = await listenAt(file, silent());
    await ask();
    hold();
    await eventually(() => expect(server.accepted()).toBe(2));
    unlinkSync(file);
    expect(await ask(false)).toBe('hard: unix SOCKET is not there (ENOENT)');
  });

  it('reports that the queue of the socket is full', async () => {
    const { file, ask } = watched();
    const service = await startChildService('tcp', 1, file);
    onTestFinished(service.end);
    service.signal('SIGSTOP');
    await eventually(async () => expect(await ask()).toBe('soft: unix SOCKET takes no more connections (EAGAIN)'));
  });

  const GROUP = 1234;
  it.runIf(process.getuid?.() === 0).each([
    ['root alone, in vain', 0o700, [], false],
    ['its group, as a member of it', 0o660, [GROUP], true],
    ['its group, in vain as a member of another', 0o660, [GROUP + 1], false],
    ['its group for reading, in vain as a member of it', 0o640, [GROUP], false],
  ])('asks without uid 0 a socket that is open to %s', async (_, mode, groups, isPermitted) => {
    const { file } = watched();
    await listenAt(file, silent());
    chmodSync(path.dirname(file), 0o755);
    chownSync(file, 0, GROUP);
    chmodSync(file, mode);
    // A thread cannot change its user, so another process asks. That one may not be permitted to read the source later.
    const program = `
      const { askOnce } = await import(${JSON.stringify(new URL('./testing/ask-once.ts', import.meta.url))});
      process.setgroups(${JSON.stringify(groups)});
      process.setgid(65534);
      process.setuid(65534);
      const path = ${JSON.stringify(file)};
      const { verdict, evidence } = await askOnce({ kind: 'unix', path })({ path }, new AbortController().signal);
      process.stdout.write(verdict + " " + evidence);`;
    const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', program], { encoding: 'utf8' });
    const refused = `soft unix ${file} is not permitted to this agent (EACCES)`;
    expect(stdout.replace(/^healthy .*/, 'healthy')).toBe(isPermitted ? 'healthy' : refused);
  });
});
