import { createHash } from 'node:crypto';
import { chmod, mkdir, mkdtemp, readdir, readFile, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { exitOf, indentLastLines, spawnChild } from '../control-plane/child.ts';
import { download } from '../control-plane/download.ts';
import { type Environment, readEnvironment } from '../control-plane/environment.ts';
import { withFileLock } from '../control-plane/file-lock.ts';
import { type ProgressStream, showProgress } from '../control-plane/progress.ts';
import { type ReleaseArchive, releaseArchives } from '../control-plane/release-archives.ts';
import { readToolsModule, type ToolsModule } from '../control-plane/tools-module.ts';
import { isExecutable, run } from './command.ts';

const kubernetesNames = ['kubelet', 'kube-controller-manager', 'kube-proxy'] as const;
/** Binaries with their source in this folder. */
const ownNames = ['node-tool', 'pod'] as const;
type KubernetesName = (typeof kubernetesNames)[number];
type Name = KubernetesName | (typeof ownNames)[number];

/** Absolute paths. `node-tool` and `pod` are static, and made for images from scratch. */
export type NodeBinaries = Readonly<Record<Name, string>>;

export interface NodeBinariesOptions {
  /** Where progress is shown; defaults to standard error. Silent when all is there already. */
  readonly log?: ProgressStream;
  /** For the tests of this function. */
  readonly environment?: Environment;
  readonly archives?: readonly ReleaseArchive[];
  readonly moduleDir?: string;
}

interface Search {
  readonly environment: Environment;
  readonly archive: ReleaseArchive | undefined;
  readonly module: ToolsModule;
  readonly cacheDir: string;
  readonly log: ProgressStream;
}

/**
 * Finds what nodes run, each at the first place that has it: KUBEBUILDER_ASSETS, the cache, the official release
 * download, a Go build; the last two fill the cache. The programs in this folder come from the cache or a Go build.
 * @throws saying why neither of the last two worked.
 */
export async function ensureNodeBinaries(options: NodeBinariesOptions = {}): Promise<NodeBinaries> {
  const environment = options.environment ?? readEnvironment();
  const module = await readToolsModule(options.moduleDir ?? import.meta.dirname);
  const { os, arch } = environment;
  const key = `${module.kubernetesVersion}-${os}-${arch}-${module.hash}`;
  const search: Search = {
    environment,
    archive: (options.archives ?? releaseArchives).find(
      ({ platform, members }) => platform === `${os}-${arch}` && members['kube-scheduler'] !== undefined,
    ),
    module,
    cacheDir: join(dirname(environment.cacheRoot), 'real-node', key),
    log: options.log ?? process.stderr,
  };
  const files = await cacheFiles(search);
  const missing = async () => {
    const found = await Promise.all(Object.entries(files).map(([name, file]) => find(name, file, search)));
    return (Object.keys(files) as Name[]).filter((_, index) => found[index] === undefined);
  };
  if ((await missing()).length > 0) {
    await mkdir(search.cacheDir, { recursive: true });
    await withFileLock(
      join(search.cacheDir, 'lock'),
      async () => fill(await missing(), files, search),
      (holder) => search.log.write(`Waiting for ${holder}, which is preparing the binaries of nodes\n`),
    );
  }
  const entries = Object.entries(files).map(async ([name, file]) => [name, (await find(name, file, search)) ?? file]);
  return Object.fromEntries(await Promise.all(entries)) as NodeBinaries;
}

async function cacheFiles({ module, cacheDir }: Search): Promise<NodeBinaries> {
  const ofKubernetes = kubernetesNames.map((name) => [name, join(cacheDir, name)]);
  const own = ownNames.map(async (name) => {
    const source = await readFile(join(module.dir, 'programs', name, 'main.go'));
    const hash = createHash('sha256').update(source).digest('hex').slice(0, 12);
    return [name, join(cacheDir, `${name}-${hash}`)];
  });
  return Object.fromEntries([...ofKubernetes, ...(await Promise.all(own))]) as NodeBinaries;
}

async function find(name: string, file: string, { environment }: Search): Promise<string | undefined> {
  const places = [...(environment.assetsDir === undefined ? [] : [join(environment.assetsDir, name)]), file];
  for (const place of places) if (await isExecutable(place)) return place;
  return undefined;
}

async function fill(names: readonly Name[], files: NodeBinaries, search: Search): Promise<void> {
  const { cacheDir, log } = search;
  // Remove what a killed process left behind. The caller holds the lock, so no other process uses it.
  for (const entry of await readdir(cacheDir)) {
    if (entry.startsWith('tmp-')) await rm(join(cacheDir, entry), { recursive: true, force: true });
  }
  const downloadable = kubernetesNames.filter((name) => names.includes(name));
  const downloadFailure = downloadable.length === 0 ? undefined : await tryDownload(downloadable, search);
  const wanted = downloadFailure === undefined ? names.filter((name) => !isOfKubernetes(name)) : names;
  for (const [index, name] of wanted.entries()) {
    const title = `${name} (${index + 1} of ${wanted.length})`;
    const progress = showProgress(log, `${title}: building with Go, which can take minutes the first time`);
    const temporary = join(cacheDir, `tmp-${process.pid}-${name}`);
    try {
      await goBuild(name, temporary, search);
      await rename(temporary, files[name]);
      progress.end(`${title}: built`);
    } catch (error) {
      progress.end();
      await rm(temporary, { force: true });
      const download = isOfKubernetes(name) ? `download: ${downloadFailure}; ` : '';
      throw new Error(`${name} is not to be had: ${download}go build: ${reason(error)}`, { cause: error });
    }
  }
}

/** The reason why it failed, or `undefined` when the binaries are in the cache now. */
async function tryDownload(names: readonly KubernetesName[], search: Search): Promise<string | undefined> {
  const { archive, cacheDir, environment, log } = search;
  const scheduler = archive?.members['kube-scheduler'];
  if (archive === undefined || scheduler === undefined) return 'no pinned checksum for this platform';
  const title = `${names.join(', ')}: downloading`;
  const progress = showProgress(log, title);
  const temporary = await mkdtemp(join(cacheDir, 'tmp-'));
  try {
    const file = join(temporary, 'archive.tar.gz');
    await download(archive.url, file, {
      sha512: archive.sha512,
      variables: environment.variables,
      onProgress: (bytes) => progress.update(`${title} ${(bytes / 1e6).toFixed(0)} MB`),
    });
    for (const name of names) {
      const member = join(dirname(scheduler), name);
      await run('tar', ['-xzf', file, '-C', temporary, member]);
      await chmod(join(temporary, member), 0o755);
      await rename(join(temporary, member), join(cacheDir, name));
    }
    progress.end(`${names.join(', ')}: downloaded`);
    return undefined;
  } catch (error) {
    progress.end(`${names.join(', ')}: not downloaded, ${reason(error)}`);
    return reason(error);
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
}

async function goBuild(name: Name, file: string, { module, environment }: Search): Promise<void> {
  const [major, minor] = module.kubernetesVersion.split('.');
  const flags = { gitVersion: `v${module.kubernetesVersion}`, gitMajor: major, gitMinor: minor };
  const settings = Object.entries(flags).map(([key, value]) => `-X k8s.io/component-base/version.${key}=${value}`);
  const ldflags = isOfKubernetes(name) ? ['-s -w', ...settings] : ['-s -w'];
  const source = isOfKubernetes(name) ? `k8s.io/kubernetes/cmd/${name}` : `./programs/${name}`;
  const child = spawnChild(environment.goCommand, {
    args: ['build', '-trimpath', '-ldflags', ldflags.join(' '), '-o', file, source],
    cwd: module.dir,
    env: { ...environment.variables, CGO_ENABLED: '0' },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let said = '';
  child.stderr?.setEncoding('utf8').on('data', (chunk: string) => {
    said = (said + chunk).slice(-20_000);
  });
  await exitOf(child);
  if (child.exitCode !== 0)
    throw new Error(`ended with ${child.signalCode ?? child.exitCode}:\n${indentLastLines(said)}`);
}

function isOfKubernetes(name: Name): name is KubernetesName {
  return kubernetesNames.some((each) => each === name);
}

function reason(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(reason).join('; ');
  return error instanceof Error ? error.message : String(error);
}
