import { createServer } from 'node:net';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { type FoundFile, ProbePaths } from './probe-paths.ts';
import { SocketFile } from './socket-file.ts';
import { within } from './testing/limits.ts';
import { listenAt, temporaryDirectory } from './testing/local-files.ts';

describe('the socket file of a line', () => {
  it('has an address from its look until it is closed, and tells another file from the one before', async () => {
    const directory = temporaryDirectory();
    const first = path.join(directory, 'first');
    const second = path.join(directory, 'second');
    for (const each of [first, second]) await listenAt(each, createServer());
    const file = new SocketFile(new ProbePaths([directory]));
    expect(file.address).toBeUndefined();
    expect(await file.open(first, within(5000))).toMatchObject({ isOther: true, address: file.address });
    file.close();
    expect(file.address).toBeUndefined();
    expect(await file.open(first, within(5000))).toMatchObject({ isOther: false });
    expect(await file.open(second, within(5000))).toMatchObject({ isOther: true });
    file.forget();
    expect(file.address).toBeUndefined();
    expect(await file.open(second, within(5000))).toMatchObject({ isOther: true });
    file.close();
  });

  it('closes what comes in the moment in which its line was let go', async () => {
    const stop = new AbortController();
    let closed = 0;
    const close = () => {
      closed += 1;
    };
    const found: FoundFile = { path: '/x', id: '1', kind: 'socket', modifiedMs: 0, close };
    const findSocket = async () => {
      stop.abort(new Error('over'));
      return found;
    };
    const file = new SocketFile({ findSocket });
    await expect(file.open('/x', stop.signal)).rejects.toThrow('over');
    expect([closed, file.address]).toEqual([1, undefined]);
  });
});
