import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import type { Server } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { onTestFinished } from 'vitest';
import { listenOnLoopback, type RunningServer } from './servers.ts';

/** A directory for one test. */
export function temporaryDirectory(): string {
  const directory = realpathSync(mkdtempSync(path.join(tmpdir(), 'rollcall-probes-')));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** Listens at a socket file for one test; cuts what is connected when it is closed. */
export async function listenAt(file: string, server: Server): Promise<RunningServer> {
  const running = await listenOnLoopback(server, { file });
  onTestFinished(running.close);
  return running;
}
