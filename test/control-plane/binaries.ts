import { constants } from 'node:fs';
import { access, mkdir, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type Environment, readEnvironment } from './environment.ts';
import { withFileLock } from './file-lock.ts';
import { goBuild } from './go-build.ts';
import { type ProgressStream, showProgress } from './progress.ts';
import { type ReleaseArchive, releaseArchives } from './release-archives.ts';
import { downloadRelease } from './release-download.ts';
import { readToolsModule, type ToolsModule } from './tools-module.ts';

const binaryNames = ['etcd', 'kube-apiserver', 'kube-scheduler', 'kubectl'] as const;
export type BinaryName = (typeof binaryNames)[number];

/** Absolute paths. */
export type Binaries<N extends BinaryName = BinaryName> = Readonly<Record<N, string>>;

export interface BinariesOptions<N extends BinaryName> {
  /** Which are needed; defaults to all. */
  readonly names?: readonly N[];
  /** Where progress is shown; defaults to standard error. Silent when all is there already. */
  readonly log?: ProgressStream;
  /** For the tests of this function. */
  readonly environment?: Environment;
  readonly archives?: readonly ReleaseArchive[];
  readonly moduleDir?: string;
}

interface Search {
  readonly environment: Environment;
  readonly archives: readonly ReleaseArchive[];
  readonly module: ToolsModule;
  readonly cacheDir: string;
  readonly log: ProgressStream;
}

/**
 * Finds each binary at the first place that has it: KUBEBUILDER_ASSETS, the cache, the official release download, a Go
 * build; the last two fill the cache. Processes that need the same binaries at once wait for one of them.
 * @throws one error that says for every way why it did not work.
 */
export async function ensureBinaries<N extends BinaryName = BinaryName>(
  options: BinariesOptions<N> = {},
): Promise<Binaries<N>> {
  const names = options.names ?? (binaryNames as readonly BinaryName[] as readonly N[]);
  const environment = options.environment ?? readEnvironment();
  const module = await readToolsModule(options.moduleDir ?? import.meta.dirname);
  const key = `${module.kubernetesVersion}-${environment.os}-${environment.arch}-${module.hash}`;
  const search: Search = {
    environment,
    archives: options.archives ?? releaseArchives,
    module,
    cacheDir: join(environment.cacheRoot, key),
    log: options.log ?? process.stderr,
  };
  const missing = await missingOf(names, search);
  if (missing.length > 0) await fillCache(missing, search);
  const entries = names.map(async (name) => [name, (await find(name, search)) ?? join(search.cacheDir, name)]);
  return Object.fromEntries(await Promise.all(entries)) as Binaries<N>;
}

async function find(name: BinaryName, search: Search): Promise<string | undefined> {
  for (const dir of [search.environment.assetsDir, search.cacheDir]) {
    if (dir !== undefined && (await isExecutable(join(dir, name)))) return join(dir, name);
  }
  return undefined;
}

async function missingOf(names: readonly BinaryName[], search: Search): Promise<BinaryName[]> {
  const found = await Promise.all(names.map((name) => find(name, search)));
  return names.filter((_, index) => found[index] === undefined);
}

async function fillCache(names: readonly BinaryName[], search: Search): Promise<void> {
  await mkdir(search.cacheDir, { recursive: true });
  const fill = async () => {
    await removeLeftovers(search.cacheDir);
    // A download that failed once is not tried again for the next binary of the same archive.
    const failedArchives = new Map<ReleaseArchive, string>();
    for (const [index, name] of names.entries()) {
      if ((await find(name, search)) !== undefined) continue;
      await obtain(name, names, `${index + 1} of ${names.length}`, search, failedArchives);
    }
  };
  await withFileLock(join(search.cacheDir, 'lock'), fill, (holder) => {
    search.log.write(`Waiting for ${holder}, which is preparing ${names.join(', ')}\n`);
  });
}

async function obtain(
  name: BinaryName,
  names: readonly BinaryName[],
  position: string,
  search: Search,
  failedArchives: Map<ReleaseArchive, string>,
): Promise<void> {
  const { environment, cacheDir } = search;
  const title = `${name} (${position})`;
  const downloadFailure = await tryDownload(name, names, title, search, failedArchives);
  if (downloadFailure === undefined) return;

  const progress = showProgress(search.log, `${title}: building with Go, which takes minutes the first time`);
  const temporary = join(cacheDir, `tmp-${process.pid}-${name}`);
  try {
    await goBuild(name, temporary, search.module, environment);
    await rename(temporary, join(cacheDir, name));
    progress.end(`${title}: built`);
  } catch (error) {
    progress.end();
    await rm(temporary, { force: true });
    const assets = environment.assetsDir;
    const ways = [
      `KUBEBUILDER_ASSETS: ${assets === undefined ? 'not set' : `${join(assets, name)} missing`}`,
      `cache: ${join(cacheDir, name)} missing`,
      `download: ${downloadFailure}`,
      `go build: ${reason(error)}`,
    ];
    throw new Error(`${name} is not to be had\n${ways.map((way) => `  ${way}`).join('\n')}`, { cause: error });
  }
}

/** The reason why it failed, or `undefined` when the binary is in the cache now. */
async function tryDownload(
  name: BinaryName,
  names: readonly BinaryName[],
  title: string,
  search: Search,
  failedArchives: Map<ReleaseArchive, string>,
): Promise<string | undefined> {
  const { environment, archives, cacheDir } = search;
  const platform = `${environment.os}-${environment.arch}`;
  const archive = archives.find((each) => each.platform === platform && each.members[name] !== undefined);
  if (archive === undefined) return `no pinned checksum for ${name} on ${platform}`;
  const known = failedArchives.get(archive);
  if (known !== undefined) return known;
  const progress = showProgress(search.log, `${title}: downloading`);
  try {
    const wanted = await missingOf(names, search);
    await downloadRelease(archive, wanted, cacheDir, environment.variables, (text) => {
      progress.update(`${title}: downloading ${text}`);
    });
    progress.end(`${title}: downloaded`);
    return undefined;
  } catch (error) {
    progress.end(`${title}: not downloaded, ${reason(error)}`);
    failedArchives.set(archive, reason(error));
    return reason(error);
  }
}

/** Removes what a killed process left behind. The caller holds the lock, so no other process uses it. */
async function removeLeftovers(dir: string): Promise<void> {
  for (const entry of await readdir(dir)) {
    if (entry.startsWith('tmp-')) await rm(join(dir, entry), { recursive: true, force: true });
  }
}

async function isExecutable(file: string): Promise<boolean> {
  return access(file, constants.X_OK).then(
    () => true,
    () => false,
  );
}

function reason(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(reason).join('; ');
  return error instanceof Error ? error.message : String(error);
}
