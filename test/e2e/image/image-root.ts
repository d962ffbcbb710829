import { type ChildProcess, execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { BuiltImage } from '../../../deploy/image/image.ts';
import { removeDirOnExit, spawnChild } from '../../control-plane/child.ts';

/** Where the tools of the machine are; nothing else of the environment is passed on. */
const ENVIRONMENT = { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' };

/**
 * What a container runtime does, as far as the image has to do with it: the root read-only, /proc, /sys, /dev and
 * /etc/hosts from outside, a user and a group without privileges, and nothing of the caller's environment.
 */
const CONTAINER = `
root=$1; shift
mount --bind "$root" "$root"
for name in proc sys dev; do mount --rbind "/$name" "$root/$name"; done
mount -o remount,bind,ro "$root"
exec setpriv --no-new-privs chroot --userspec=65532:65532 --groups=65532 "$root" "$@"
`;

/** Why this machine cannot run an image; `undefined` when it can. */
export function whyNoContainer(): string | undefined {
  if (process.platform !== 'linux' || process.arch !== 'x64') return 'images are run on linux/amd64 only';
  if (process.getuid?.() !== 0) return 'only root can run an image without a container runtime';
  const { status } = spawnSync('unshare', ['--mount', 'mount', '--bind', '/tmp', '/tmp']);
  return status === 0 ? undefined : 'this machine does not let root mount anything';
}

/** The files of an image in a directory, and its programs in a container. */
export class ImageRoot {
  readonly dir: string;

  constructor({ image }: BuiltImage) {
    this.dir = mkdtempSync(path.join(tmpdir(), 'rollcall-image-'));
    removeDirOnExit(this.dir);
    // It becomes the root directory of another user.
    chmodSync(this.dir, 0o755);
    for (const digest of image.layers) {
      const blob = image.blobs.get(digest);
      if (!blob) throw new Error(`the image lacks its layer ${digest}`);
      execFileSync('tar', ['-xzpf', '-', '-C', this.dir], { input: blob });
    }
    for (const name of ['proc', 'sys', 'dev']) mkdirSync(path.join(this.dir, name));
    writeFileSync(path.join(this.dir, 'etc/hosts'), '127.0.0.7 seven.example\n');
  }

  /** Starts the image's Node.js with these arguments. */
  spawn(args: readonly string[]): ChildProcess {
    const command = ['sh', '-ec', CONTAINER, 'sh', this.dir, '/nodejs/bin/node', ...args];
    return spawnChild('unshare', { args: ['--mount', '--propagation', 'private', ...command], env: ENVIRONMENT });
  }

  /** Runs it to its end. */
  run(args: readonly string[]): { status: number | null; stdout: string; stderr: string } {
    const command = ['--mount', '--propagation', 'private', 'sh', '-ec', CONTAINER, 'sh', this.dir, '/nodejs/bin/node'];
    return spawnSync('unshare', [...command, ...args], { encoding: 'utf8', env: ENVIRONMENT, timeout: 20_000 });
  }

  remove(): void {
    rmSync(this.dir, { recursive: true, force: true });
  }
}
