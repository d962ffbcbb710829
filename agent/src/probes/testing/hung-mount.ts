import { spawnSync } from 'node:child_process';
import { closeSync, constants, existsSync, mkdirSync, mkdtempSync, openSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

/** A mounted file system whose server never answers: every access to a path on it waits. */
export type HungMount = {
  directory: string;
  /** Ends the server, whereupon all who wait get an error, and the mount. May be called again. */
  end(): void;
};

/** Mounts one by FUSE, which takes root and Linux; `undefined` where it is not permitted. */
export function mountHung(): HungMount | undefined {
  if (!existsSync('/dev/fuse')) return undefined;
  const directory = path.join(mkdtempSync(path.join(tmpdir(), 'rollcall-hung-')), 'mount');
  mkdirSync(directory);
  const server = openSync('/dev/fuse', constants.O_RDWR);
  const options = 'fd=3,rootmode=40000,user_id=0,group_id=0';
  const { status } = spawnSync('mount', ['-i', '-t', 'fuse', '-o', options, 'hung', directory], {
    stdio: ['ignore', 'ignore', 'ignore', server],
    timeout: 5000,
  });
  let hasEnded = false;
  const end = () => {
    if (hasEnded) return;
    hasEnded = true;
    closeSync(server);
    spawnSync('umount', ['-l', directory]);
    rmSync(path.dirname(directory), { recursive: true, force: true });
  };
  if (status === 0) return { directory, end };
  end();
  return undefined;
}

/** Whether this process may mount one. */
export function mayMountHung(): boolean {
  const mount = mountHung();
  mount?.end();
  return mount !== undefined;
}
