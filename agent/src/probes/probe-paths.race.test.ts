import { spawn } from 'node:child_process';
import { mkdirSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ProbePaths } from './probe-paths.ts';
import { openLineFor } from './testing/ask-once.ts';
import { createGrpcServer } from './testing/grpc-server.ts';
import { within } from './testing/limits.ts';
import { listenAt, temporaryDirectory } from './testing/local-files.ts';

const ROUNDS_MIN = 4000;
/** A machine that is busy may let one of the two processes wait for long. */
const ROUNDS_MAX = 40_000;
/** So often must each of both have been met for the race to be one. */
const MET_MIN = 100;
const SWAPPER = fileURLToPath(new URL('./testing/link-swapper.ts', import.meta.url));

const readyDriver = () => createGrpcServer({ '/csi.v1.Identity/Probe': () => new Uint8Array(0) });

/** A socket below the directory that is allowed and one outside, which a process puts under one name in turn. */
async function swapped() {
  const directory = temporaryDirectory();
  const allowed = path.join(directory, 'allowed');
  mkdirSync(allowed);
  const inside = await listenAt(path.join(allowed, 'real'), readyDriver());
  const outside = await listenAt(path.join(directory, 'outside'), readyDriver());
  const name = path.join(allowed, 'name');
  const swapper = spawn(process.execPath, [SWAPPER, name, path.join(allowed, 'real'), path.join(directory, 'outside')]);
  onTestFinished(async () => {
    swapper.kill('SIGKILL');
    await new Promise((resolve) => swapper.once('exit', resolve));
  });
  return { name, inside, outside, paths: new ProbePaths([allowed]) };
}

// Other systems have no O_PATH.
describe.runIf(process.platform === 'linux')('a link that is swapped under the agent', () => {
  it.each([
    ['unix', 'path'],
    ['csi', 'socket'],
  ] as const)('never leads a probe out of --probe-paths: %s', { timeout: 180_000 }, async (kind, setting) => {
    const { name, inside, outside, paths } = await swapped();
    const line = openLineFor({ kind, [setting]: name }, { paths })(() => {});
    onTestFinished(() => line.release());
    const met = { healthy: 0, hard: 0, soft: 0, unknown: 0 };
    const descriptors = () => readdirSync('/proc/self/fd').length - inside.connections.size;
    const before = descriptors();
    const isRace = () => Math.min(met.healthy, met.hard) >= MET_MIN;
    for (let round = 0; round < ROUNDS_MIN || (!isRace() && round < ROUNDS_MAX); round += 1) {
      const { verdict } = await line.ask({ path: name }, within(5000), true);
      met[verdict] += 1;
      // As the monitor does: an idle connection to what was healthy, and none to what was not.
      if (verdict === 'healthy') line.hold({ path: name });
      else line.release();
    }
    expect(isRace()).toBe(true);
    expect(outside.accepted()).toBe(0);
    expect(descriptors() - before).toBeLessThan(50);
  });
});
