import { readFile, writeFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { ProbePaths } from './probe-paths.ts';
import { openLineFor } from './testing/ask-once.ts';
import { createGrpcServer } from './testing/grpc-server.ts';
import { mayMountHung, mountHung } from './testing/hung-mount.ts';
import { eventually, within } from './testing/limits.ts';
import { listenAt, temporaryDirectory } from './testing/local-files.ts';
import type { Line, ProbeResult } from './types.ts';

/** Time enough for what answers, also on a machine that is busy. */
const LONG_MS = 10_000;
const SHORT_MS = 300;

let directory: string;
let socket: string;
let paths: ProbePaths;

beforeEach(async () => {
  directory = temporaryDirectory();
  socket = path.join(directory, 'csi.sock');
  paths = new ProbePaths(['/']);
  await listenAt(socket, createGrpcServer({ '/csi.v1.Identity/Probe': () => new Uint8Array(0) }));
});

function lineFor(spec: { kind: string; path?: string; socket?: string }): Line {
  const line = openLineFor(spec, { paths })(() => {});
  onTestFinished(() => line.release());
  return line;
}

function ask(line: Line, at: string, limitMs: number): Promise<ProbeResult> {
  return line.ask({ path: at }, within(limitMs), true);
}

/** Hung file systems, with `files` paths on each; nothing where this process may not mount. */
function hungPaths(mounts: number, files: number): string[] {
  return Array.from({ length: mounts }).flatMap(() => {
    const mount = mountHung();
    if (mount) onTestFinished(mount.end);
    return Array.from({ length: files }, (_, index) => path.join(mount?.directory ?? '', `file-${index}`));
  });
}

describe.runIf(mayMountHung())('paths on a mount that hangs', () => {
  it.each([
    ['one mount', 1],
    ['two mounts', 2],
  ])('take no time from a socket on another, nor the last thread: four on %s', async (_, mounts) => {
    const hung = hungPaths(mounts, 4).map((file) => ask(lineFor({ kind: 'file', path: file }), file, SHORT_MS));
    const csi = lineFor({ kind: 'csi', socket });
    for (let round = 0; round < 3; round += 1) {
      expect(await ask(csi, socket, LONG_MS)).toMatchObject({ verdict: 'healthy' });
    }
    const verdicts = (await Promise.all(hung)).map(({ verdict }) => verdict).sort();
    expect(verdicts).toEqual([...Array(mounts).fill('soft'), ...Array(mounts * 3).fill('unknown')]);
    expect(await promisify(readFile)('/proc/self/comm')).not.toHaveLength(0);
  });

  it('are not asked again before they answer, and are found once the mount answers', async () => {
    const file = path.join(directory, 'file');
    writeFileSync(file, '');
    const mount = mountHung();
    const hung = path.join(mount?.directory ?? '', 'file');
    const line = lineFor({ kind: 'file', path: hung });
    for (let round = 0; round < 8; round += 1) {
      expect(await ask(line, hung, 20)).toMatchObject({
        verdict: 'soft',
        evidence: `file ${hung} did not answer within 20 ms`,
      });
    }
    expect(await ask(lineFor({ kind: 'file', path: file }), file, LONG_MS)).toMatchObject({ verdict: 'healthy' });
    mount?.end();
    await eventually(async () => expect(await ask(line, hung, LONG_MS)).toMatchObject({ verdict: 'hard' }));
  });

  it('leave other paths unknown, and not failed, when they hang on three mounts', async () => {
    const hung = hungPaths(3, 1);
    const asked = hung.map((file) => ask(lineFor({ kind: 'file', path: file }), file, SHORT_MS));
    expect(await ask(lineFor({ kind: 'csi', socket }), socket, SHORT_MS)).toEqual({
      verdict: 'unknown',
      evidence: `csi ${socket} was not checked: ${hung.join(', ')} did not answer`,
    });
    expect((await Promise.all(asked)).map(({ verdict }) => verdict)).toEqual(['soft', 'soft', 'soft']);
    expect(await promisify(readFile)('/proc/self/comm')).not.toHaveLength(0);
  });
});
