import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { freePort } from '../control-plane/ports.ts';
import { ensureNodeBinaries, type NodeBinariesOptions } from './binaries.ts';

/** A stand-in for Go that notes what it builds, and writes that into a file. */
const fakeGo = `#!/bin/sh
while [ "$1" != -o ]; do shift; done
echo "$3" >> "$(dirname "$0")/calls"
printf 'built %s' "$3" > "$2"
chmod +x "$2"
`;
const names = ['kubelet', 'kube-controller-manager', 'kube-proxy'];

let root: string;
let said: string;
let server: Server | undefined;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'rollcall-node-binaries-'));
  said = '';
  for (const dir of ['assets', 'bin', 'module/programs/pod', 'module/programs/node-tool']) {
    mkdirSync(join(root, dir), { recursive: true });
  }
  writeFileSync(join(root, 'module/go.mod'), 'require k8s.io/kubernetes v1.36.3\n');
  writeFileSync(join(root, 'module/go.sum'), '');
  for (const name of ['pod', 'node-tool']) writeFileSync(join(root, 'module/programs', name, 'main.go'), '');
  writeFileSync(join(root, 'bin/go'), fakeGo, { mode: 0o755 });
});

afterEach(() => {
  server?.close();
  server = undefined;
  rmSync(root, { recursive: true });
});

function goCalls(): string[] {
  const file = join(root, 'bin/calls');
  return existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : [];
}

function options(archives: NodeBinariesOptions['archives'] = []): NodeBinariesOptions {
  return {
    log: {
      write(text: string) {
        said += text;
      },
    },
    environment: {
      assetsDir: join(root, 'assets'),
      cacheRoot: join(root, 'cache/control-plane'),
      os: 'linux',
      arch: 'amd64',
      goCommand: join(root, 'bin/go'),
      variables: { PATH: '/usr/bin:/bin' },
    },
    archives,
    moduleDir: join(root, 'module'),
  };
}

/** Serves an archive as the Kubernetes project publishes them. Defaults to the right checksum. */
async function serveArchive(sha512?: string): Promise<NonNullable<NodeBinariesOptions['archives']>[number]> {
  const dir = 'kubernetes/server/bin';
  mkdirSync(join(root, dir), { recursive: true });
  for (const name of names) writeFileSync(join(root, dir, name), `released ${name}`);
  const file = join(root, 'server.tar.gz');
  execFileSync('tar', ['-czf', file, '-C', root, dir]);
  const content = readFileSync(file);
  const port = await freePort();
  server = createServer((_, response) => response.end(content)).listen(port, '127.0.0.1');
  return {
    platform: 'linux-amd64',
    url: `http://127.0.0.1:${port}/server.tar.gz`,
    sha512: sha512 ?? createHash('sha512').update(content).digest('hex'),
    members: { 'kube-scheduler': `${dir}/kube-scheduler` },
  };
}

test('builds with Go what is nowhere else, and the second time finds it in the cache', async () => {
  const binaries = await ensureNodeBinaries(options());
  const packages = [...names.map((name) => `k8s.io/kubernetes/cmd/${name}`), './programs/node-tool', './programs/pod'];
  expect(goCalls()).toEqual(packages);
  expect(readFileSync(binaries.kubelet, 'utf8')).toBe('built k8s.io/kubernetes/cmd/kubelet');
  expect(said).toContain('kubelet (1 of 5): building with Go');

  said = '';
  expect(await ensureNodeBinaries(options())).toEqual(binaries);
  expect(goCalls()).toHaveLength(5);
  expect(said).toBe('');
});

test('builds a program of this folder again when its source has changed, and nothing else', async () => {
  const binaries = await ensureNodeBinaries(options());
  writeFileSync(join(root, 'module/programs/pod/main.go'), '// changed');
  const again = await ensureNodeBinaries(options());
  expect(goCalls().slice(5)).toEqual(['./programs/pod']);
  expect({ ...again, pod: '' }).toEqual({ ...binaries, pod: '' });
  expect(again.pod).not.toBe(binaries.pod);
});

test('takes ready-made binaries where the environment says that there are some', async () => {
  writeFileSync(join(root, 'assets/kubelet'), '', { mode: 0o755 });
  const { kubelet } = await ensureNodeBinaries(options());
  expect(kubelet).toBe(join(root, 'assets/kubelet'));
  expect(goCalls()).not.toContain('k8s.io/kubernetes/cmd/kubelet');
});

test('downloads the release before it builds', async () => {
  const binaries = await ensureNodeBinaries(options([await serveArchive()]));
  for (const name of names) {
    const file = join(dirname(binaries.kubelet), name);
    expect(readFileSync(file, 'utf8')).toBe(`released ${name}`);
  }
  expect(goCalls()).toEqual(['./programs/node-tool', './programs/pod']);
});

test('never uses a download with another checksum, and says why neither way worked', async () => {
  const archives = [await serveArchive('0'.repeat(128))];
  writeFileSync(join(root, 'bin/go'), '#!/bin/sh\necho "no space left" >&2\nexit 1\n');
  const failed = ensureNodeBinaries(options(archives));
  await expect(failed).rejects.toThrow(
    /kubelet is not to be had: download: .*; go build: ended with 1:\s+no space left/,
  );
  expect(said).toContain('kubelet, kube-controller-manager, kube-proxy: not downloaded');
});
