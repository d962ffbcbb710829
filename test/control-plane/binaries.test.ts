import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type Server } from 'node:http';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type BinariesOptions, type BinaryName, ensureBinaries } from './binaries.ts';
import type { Environment } from './environment.ts';
import { freePort } from './ports.ts';
import type { ReleaseArchive } from './release-archives.ts';

let root: string;
let said: string;
let server: Server | undefined;
const log = {
  write(text: string) {
    said += text;
  },
};

/** A stand-in for Go that notes each call and writes a file that says who built it. */
const fakeGo = `#!/bin/sh
[ "$1" = version ] && exit 0
echo "$@" >> "$(dirname "$0")/calls"
sleep 0.2
while [ "$1" != -o ]; do shift; done
printf 'built %s' "$3" > "$2"
chmod +x "$2"
`;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'rollcall-binaries-'));
  said = '';
  for (const dir of ['assets', 'cache', 'bin', 'module']) mkdirSync(join(root, dir));
  writeFileSync(join(root, 'module', 'go.mod'), 'module m\n\nrequire (\n\tk8s.io/kubernetes v1.36.3\n)\n');
  writeFileSync(join(root, 'module', 'go.sum'), '');
});

afterEach(() => {
  server?.close();
  server = undefined;
  rmSync(root, { recursive: true });
});

function installGo(script = fakeGo): void {
  writeFileSync(join(root, 'bin', 'go'), script, { mode: 0o755 });
}

function goCalls(): string[] {
  const file = join(root, 'bin', 'calls');
  return existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : [];
}

function binary(dir: string, name: BinaryName, content: string): string {
  const file = join(root, dir, name);
  writeFileSync(file, content);
  chmodSync(file, 0o755);
  return file;
}

function options<N extends BinaryName>(names: N[], archives: ReleaseArchive[] = []): BinariesOptions<N> {
  const environment: Environment = {
    assetsDir: join(root, 'assets'),
    cacheRoot: join(root, 'cache'),
    os: 'linux',
    arch: 'amd64',
    goCommand: join(root, 'bin', 'go'),
    variables: { PATH: '/usr/bin:/bin' },
  };
  return { names, log, environment, archives, moduleDir: join(root, 'module') };
}

/** Serves a release archive with an etcd and a kubectl in it. */
async function serveArchive(sha512?: string): Promise<{ archive: ReleaseArchive; requests: () => number }> {
  mkdirSync(join(root, 'release', 'bin'), { recursive: true });
  binary('release/bin', 'etcd', 'downloaded etcd');
  binary('release/bin', 'kubectl', 'downloaded kubectl');
  const bytes = execFileSync('tar', ['-czf', '-', '-C', root, 'release']);
  let requests = 0;
  const listening = createServer((request, response) => {
    if (request.url === '/moved.tar.gz') return response.writeHead(302, { Location: '/release.tar.gz' }).end();
    requests++;
    response.end(bytes);
  });
  server = listening;
  const port = await freePort();
  await new Promise<void>((resolve) => {
    listening.listen(port, '127.0.0.1', resolve);
  });
  const archive: ReleaseArchive = {
    platform: 'linux-amd64',
    url: `http://127.0.0.1:${port}/moved.tar.gz`,
    sha512: sha512 ?? createHash('sha512').update(bytes).digest('hex'),
    members: { etcd: 'release/bin/etcd', kubectl: 'release/bin/kubectl' },
  };
  return { archive, requests: () => requests };
}

describe('ensureBinaries', () => {
  it('takes each binary from KUBEBUILDER_ASSETS before the cache, and from the cache before anything is done', async () => {
    installGo();
    const assets = binary('assets', 'etcd', 'asset');
    const { etcd: cachedEtcd, kubectl } = await ensureBinaries({
      ...options(['etcd', 'kubectl']),
      environment: { ...options(['etcd']).environment, assetsDir: undefined } as Environment,
    });
    expect(cachedEtcd).toContain(join(root, 'cache'));
    expect(goCalls()).toHaveLength(2);
    said = '';
    expect(await ensureBinaries(options(['etcd', 'kubectl']))).toEqual({ etcd: assets, kubectl });
    expect(goCalls()).toHaveLength(2);
    expect(said).toBe('');
  });

  it('downloads before it builds, follows redirects, and unpacks at once all that it needs from an archive', async () => {
    installGo();
    const { archive, requests } = await serveArchive();
    const found = await ensureBinaries(options(['etcd', 'kubectl', 'kube-scheduler'], [archive]));
    expect(readFileSync(found.etcd, 'utf8')).toBe('downloaded etcd');
    expect(readFileSync(found.kubectl, 'utf8')).toBe('downloaded kubectl');
    expect(readFileSync(found['kube-scheduler'], 'utf8')).toBe('built k8s.io/kubernetes/cmd/kube-scheduler');
    expect(requests()).toBe(1);
    expect(goCalls()).toHaveLength(1);
    expect(readdirSync(join(found.etcd, '..')).sort()).toEqual(['etcd', 'kube-scheduler', 'kubectl']);
  });

  it('never uses a download whose checksum is another one', async () => {
    installGo();
    const { archive } = await serveArchive('0'.repeat(128));
    const found = await ensureBinaries(options(['etcd'], [archive]));
    expect(readFileSync(found.etcd, 'utf8')).toBe('built go.etcd.io/etcd/server/v3');
    expect(said).toMatch(/etcd \(1 of 1\): not downloaded, .*checksum is [0-9a-f]{128}, expected 0{128}/);
    expect(readdirSync(join(found.etcd, '..'))).toEqual(['etcd']);
  });

  it('builds when the release host refuses, and asks it once for all binaries of an archive', async () => {
    installGo();
    const { archive, requests } = await serveArchive();
    server?.close();
    const found = await ensureBinaries(options(['etcd', 'kubectl'], [archive]));
    expect(readFileSync(found.kubectl, 'utf8')).toBe('built k8s.io/kubernetes/cmd/kubectl');
    expect(said.match(/not downloaded, .*ECONNREFUSED/g)).toHaveLength(1);
    expect(requests()).toBe(0);
  });

  it('never downloads for a platform without a pinned checksum', async () => {
    installGo();
    const { archive, requests } = await serveArchive();
    await ensureBinaries(options(['etcd'], [{ ...archive, platform: 'linux-arm64' }]));
    expect(requests()).toBe(0);
    expect(goCalls()).toHaveLength(1);
  });

  it('gives the version of go.mod to the build', async () => {
    installGo();
    await ensureBinaries(options(['kubectl']));
    const [call] = goCalls();
    expect(call).toContain('-X k8s.io/component-base/version.gitVersion=v1.36.3');
    expect(call).toContain('-X k8s.io/component-base/version.gitMinor=36');
  });

  it('keeps the binaries of different requirements apart', async () => {
    installGo();
    const before = await ensureBinaries(options(['kubectl']));
    writeFileSync(join(root, 'module', 'go.sum'), 'another v1.0.0 h1:=\n');
    const after = await ensureBinaries(options(['kubectl']));
    expect(after.kubectl).not.toBe(before.kubectl);
    expect(goCalls()).toHaveLength(2);
  });

  it('builds once when it is asked twice at the same time', async () => {
    installGo();
    const both = await Promise.all([ensureBinaries(options(['kubectl'])), ensureBinaries(options(['kubectl']))]);
    expect(both[0]).toEqual(both[1]);
    expect(goCalls()).toHaveLength(1);
    expect(said).toContain(`Waiting for process ${process.pid}`);
  });

  it('takes over from a process that was killed at work, and removes what that one left', async () => {
    installGo();
    const found = await ensureBinaries(options(['etcd']));
    const dir = join(found.etcd, '..');
    const gone = Number(execFileSync('sh', ['-c', 'echo $$'], { encoding: 'utf8' }));
    writeFileSync(join(dir, 'lock'), JSON.stringify({ pid: gone, host: hostname() }));
    writeFileSync(join(dir, `tmp-${gone}-kubectl`), 'half of it');
    await ensureBinaries(options(['kubectl']));
    expect(readdirSync(dir).sort()).toEqual(['etcd', 'kubectl']);
  });

  it('says for every way why it failed', async () => {
    const { archive } = await serveArchive();
    server?.close();
    const failure = ensureBinaries(options(['etcd', 'kubectl'], [archive]));
    await expect(failure).rejects.toThrow(/^etcd is not to be had\n {2}KUBEBUILDER_ASSETS: .*assets\/etcd missing\n/);
    await expect(failure).rejects.toThrow(/\n {2}cache: .*1\.36\.3-linux-amd64-[0-9a-f]{12}\/etcd missing\n/);
    await expect(failure).rejects.toThrow(/\n {2}download: .*ECONNREFUSED/);
    await expect(failure).rejects.toThrow(
      /\n {2}go build: go not found on PATH — install Go ≥ 1\.26 or set KUBEBUILDER_ASSETS$/,
    );
    const unset = { ...options(['kubectl']).environment, assetsDir: undefined } as Environment;
    const other = ensureBinaries({ ...options(['kubectl']), environment: unset });
    await expect(other).rejects.toThrow('KUBEBUILDER_ASSETS: not set');
    await expect(other).rejects.toThrow('download: no pinned checksum for kubectl on linux-amd64');
  });

  it('shows the last lines of a build that failed, and leaves nothing behind', async () => {
    installGo('#!/bin/sh\n[ "$1" = version ] && exit 0\necho first >&2\necho "undefined: reality" >&2\nexit 3\n');
    await expect(ensureBinaries(options(['etcd']))).rejects.toThrow(
      /go build: ended with 3:\n {4}first\n {4}undefined: reality$/,
    );
    const [key] = readdirSync(join(root, 'cache'));
    expect(readdirSync(join(root, 'cache', key ?? ''))).toEqual([]);
  });
});
