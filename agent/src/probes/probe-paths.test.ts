import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import path from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { type FoundFile, ProbePaths } from './probe-paths.ts';
import { within } from './testing/limits.ts';
import { listenAt, temporaryDirectory } from './testing/local-files.ts';

const canUnshare = process.getuid?.() === 0 && spawnSync('unshare', ['--mount', 'true']).status === 0;

/** `allowed` with a file in it, and a file beside it. */
function machine() {
  const directory = temporaryDirectory();
  const allowed = path.join(directory, 'allowed');
  const outside = path.join(directory, 'outside');
  mkdirSync(path.join(allowed, 'inner'), { recursive: true });
  mkdirSync(outside);
  const file = path.join(allowed, 'inner', 'file');
  const secret = path.join(outside, 'secret');
  writeFileSync(file, '');
  writeFileSync(secret, '');
  return {
    directory,
    allowed,
    outside,
    file,
    secret,
    find: (at: string) => findIn([allowed], at),
  };
}

/** What is at a path, and which file its handle leads to. */
async function findIn(roots: readonly string[], at: string) {
  const found = await new ProbePaths(roots).find(at, within(5000));
  if ('says' in found) return found;
  onTestFinished(found.close);
  const { path: _path, close: _close, ...seen } = found;
  return seen;
}

function contentOf(found: FoundFile | object): string {
  return 'path' in found ? readFileSync(String(found.path), 'utf8') : '';
}

const LEADS_OUT = { healthy: false, isProof: true, says: 'is a link that leads out of --probe-paths' };

describe('a path that an agent is told to look at', () => {
  const paths = new ProbePaths(['/run/plugins', '/var/lib/x/']);

  it.each(['/run/plugins/a.sock', '/run/plugins/a/b/c', '/var/lib/x/y'])('may be below a directory: %s', (each) => {
    expect(paths.refusalOf(each)).toBeUndefined();
  });

  it.each(['/run/plugins', '/run/plugins2/a', '/run', '/etc/shadow'])('is refused elsewhere: %s', (each) => {
    expect(paths.refusalOf(each)).toBe(
      `not at ${each}: --probe-paths of this agent names only /run/plugins, /var/lib/x`,
    );
    expect(new ProbePaths([]).refusalOf(each)).toBe(`not at ${each}: --probe-paths of this agent names no directory`);
  });

  it.each([
    '/run/plugins/../../etc/shadow',
    '/run/plugins/..',
    '/run/plugins//a',
    '/run/plugins/./a',
    'run/plugins/a',
    '',
    '\0/run/plugins/a',
    '/run/plugins/a\0b',
    7,
    null,
  ])('is refused when it is not plain: %j', (each) => {
    expect(paths.refusalOf(each)).toBe('its path is not an absolute one without ".", ".." and "//"');
  });
});

describe('where links lead', () => {
  it('is looked up, and may be within the directories', async () => {
    const { allowed, file, find } = machine();
    const link = path.join(allowed, 'link');
    symlinkSync('inner/file', link);
    expect(await find(link)).toEqual(await find(file));
  });

  it('is not looked at outside of them, through a link to a file or to a directory', async () => {
    const { allowed, outside, secret, find } = machine();
    symlinkSync(secret, path.join(allowed, 'link'));
    symlinkSync(outside, path.join(allowed, 'directory'));
    symlinkSync('directory/secret', path.join(allowed, 'twice'));
    expect(await find(path.join(allowed, 'link'))).toEqual(LEADS_OUT);
    expect(await find(path.join(allowed, 'directory', 'secret'))).toEqual(LEADS_OUT);
    expect(await find(path.join(allowed, 'twice'))).toEqual(LEADS_OUT);
  });

  it.runIf(canUnshare)('is not to a file of the same path in another mount namespace', async () => {
    const { allowed, file, find } = machine();
    const link = path.join(allowed, 'link');
    const script =
      'mount -t tmpfs other "$1" && mkdir "$1/inner" && touch "$1/inner/file" && echo ready && exec sleep 600';
    const other = spawn('unshare', ['--mount', 'sh', '-c', script, 'sh', allowed]);
    onTestFinished(() => void other.kill('SIGKILL'));
    await once(other.stdout, 'data');
    symlinkSync(`/proc/${other.pid}/root${file}`, link);
    await expect(find(link)).rejects.toMatchObject({ code: 'ENOENT' });
  });

  it('may be elsewhere for a directory that is configured', async () => {
    const { directory, allowed, file } = machine();
    const link = path.join(directory, 'link');
    symlinkSync(allowed, link);
    expect(await findIn([link], path.join(link, 'inner', 'file'))).toEqual(await findIn([allowed], file));
  });
});

describe('what is at a path', () => {
  it('is told apart by its kind, its time, and by which file it is', async () => {
    const { allowed, file, find } = machine();
    utimesSync(file, 5, 7);
    const found = await find(file);
    expect(found).toMatchObject({ kind: 'file', modifiedMs: 7000 });
    expect(await find(file)).toEqual(found);
    expect(await find(path.join(allowed, 'inner'))).toMatchObject({ kind: 'other' });
    const socket = path.join(allowed, 'socket');
    await listenAt(socket, createServer());
    const paths = new ProbePaths([allowed]);
    const listening = await paths.findSocket(socket, within(5000));
    expect(listening).toMatchObject({ kind: 'socket' });
    if ('close' in listening) listening.close();
    expect(await paths.findSocket(file, within(5000))).toMatchObject({ isProof: true, says: 'is not a socket' });
  });

  it('is an error where there is nothing, and the reason of the signal when time is over', async () => {
    const { allowed, file } = machine();
    const paths = new ProbePaths([allowed]);
    await expect(paths.find(path.join(allowed, 'none'), within(5000))).rejects.toMatchObject({ code: 'ENOENT' });
    const reason = new Error('over');
    await expect(paths.find(file, AbortSignal.abort(reason))).rejects.toBe(reason);
  });

  it('is that very file in its handle, whatever is put in its place, until that is closed', async () => {
    const { allowed, file, secret } = machine();
    writeFileSync(file, 'first');
    writeFileSync(secret, 'secret');
    const found = await new ProbePaths([allowed]).find(file, within(5000));
    rmSync(file);
    symlinkSync(secret, file);
    expect(contentOf(found)).toBe(process.platform === 'linux' ? 'first' : 'secret');
    if ('close' in found) found.close();
    if ('close' in found) found.close();
    if (process.platform === 'linux') expect(() => contentOf(found)).toThrow('ENOENT');
  });

  it('leaves no descriptor behind, whatever was found', async () => {
    const { allowed, secret, file } = machine();
    symlinkSync(secret, path.join(allowed, 'link'));
    const paths = new ProbePaths([allowed]);
    const descriptors = () => readdirSync('/proc/self/fd').length;
    const before = descriptors();
    for (let round = 0; round < 50; round += 1) {
      await paths.find(path.join(allowed, 'link'), within(5000));
      await paths.findSocket(file, within(5000));
      await paths.find(path.join(allowed, 'none'), within(5000)).catch(() => {});
      const stop = new AbortController();
      const found = paths.find(file, stop.signal);
      stop.abort(new Error('over'));
      await expect(found).rejects.toThrow('over');
    }
    await vi.waitFor(() => expect(descriptors()).toBeLessThan(before + 20));
  });

  it('is waited for no longer than there is time where a directory hangs, and looked for once until it answers', async () => {
    const { allowed, file } = machine();
    const paths = new ProbePaths([allowed]);
    const fs = process.getBuiltinModule('node:fs');
    const [realOpen, answer] = [fs.open, Promise.withResolvers<void>()];
    const open = vi.spyOn(fs, 'open').mockImplementation(((...args: Parameters<typeof realOpen>) => {
      void answer.promise.then(() => realOpen(...args));
    }) as typeof realOpen);
    try {
      const stop = new AbortController();
      const reason = new Error('over');
      const first = paths.find(file, stop.signal);
      await vi.waitFor(() => expect(open).toHaveBeenCalledTimes(1));
      stop.abort(reason);
      await expect(first).rejects.toBe(reason);
      const second = paths.find(file, within(5000));
      const other = await paths.find(path.join(allowed, 'other'), within(5));
      expect(other).toMatchObject({ isUnknown: true, says: `was not checked: ${file} did not answer` });
      expect(open).toHaveBeenCalledTimes(1);
      answer.resolve();
      const found = await second;
      expect(found).toMatchObject({ kind: 'file' });
      if ('close' in found) found.close();
      expect(open).toHaveBeenCalledTimes(2);
    } finally {
      open.mockRestore();
    }
  });
});

describe('the socket of a container runtime or of the kubelet', () => {
  it.each(['containerd/containerd.sock', 'crio/crio.sock', 'docker.sock', 'pod-resources/kubelet.sock'])(
    'is refused unless its directory is named: %s',
    async (name) => {
      const { allowed, find } = machine();
      const socket = path.join(allowed, name);
      mkdirSync(path.dirname(socket), { recursive: true });
      await listenAt(socket, createServer());
      const link = path.join(allowed, 'plugin.sock');
      symlinkSync(socket, link);
      const isInRoot = path.dirname(socket) === allowed;
      for (const at of [socket, link]) {
        const found = await findIn([isInRoot ? path.dirname(allowed) : allowed], at);
        expect(found).toMatchObject({ healthy: false, says: expect.stringContaining('a container runtime') });
      }
      expect(await findIn([path.dirname(socket)], socket)).toMatchObject({ kind: 'socket' });
      expect(await find(path.join(allowed, 'inner', 'file'))).toMatchObject({ kind: 'file' });
    },
  );
});
