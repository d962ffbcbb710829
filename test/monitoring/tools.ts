import { mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type Environment, readEnvironment } from '../control-plane/environment.ts';
import { withFileLock } from '../control-plane/file-lock.ts';
import { showProgress } from '../control-plane/progress.ts';
import { run } from '../control-plane/run.ts';

/** Commands, as paths or as names to look up on PATH. */
export type PrometheusTools = { prometheus: string; promtool: string };

/** Where a mirror does not answer, this has to end before a test does. */
const PATIENCE = ['-o', 'Acquire::http::Timeout=15', '-o', 'Acquire::https::Timeout=15', '-o', 'Acquire::Retries=1'];

/**
 * Finds Prometheus and promtool on PATH or in the cache; else fetches the package of Debian with apt and unpacks it
 * into the cache: nothing is installed, and nothing has to be root but the very first `apt-get update` of a machine.
 * Gives the reason where they are not to be had.
 */
export async function findPrometheus(
  environment: Environment = readEnvironment(),
): Promise<PrometheusTools | { missing: string }> {
  const cacheDir = join(dirname(environment.cacheRoot), 'prometheus');
  const cached = at(join(cacheDir, 'package/usr/bin'));
  for (const tools of [{ prometheus: 'prometheus', promtool: 'promtool' }, cached]) {
    if (await work(tools, environment)) return tools;
  }
  if (environment.os !== 'linux') return { missing: `prometheus is not on PATH, and ${environment.os} has no apt` };
  await mkdir(cacheDir, { recursive: true });
  const progress = showProgress(process.stderr, 'prometheus: fetching the Debian package');
  try {
    return await withFileLock(join(cacheDir, 'lock'), async () => {
      if (await work(cached, environment)) return cached;
      const failure = await unpackPackage(cacheDir, environment);
      if (failure !== undefined) return { missing: `prometheus is neither on PATH nor to be had: ${failure}` };
      return (await work(cached, environment)) ? cached : { missing: 'prometheus of Debian does not run here' };
    });
  } finally {
    progress.end();
  }
}

function at(dir: string): PrometheusTools {
  return { prometheus: join(dir, 'prometheus'), promtool: join(dir, 'promtool') };
}

async function work({ prometheus, promtool }: PrometheusTools, { variables }: Environment): Promise<boolean> {
  for (const command of [prometheus, promtool]) {
    if ((await run(command, ['--version'], variables)).code !== 0) return false;
  }
  return true;
}

/** The reason why it failed, or `undefined` when it is in `dir`. */
async function unpackPackage(dir: string, { variables }: Environment): Promise<string | undefined> {
  const temporary = await mkdtemp(join(dir, 'tmp-'));
  const isRoot = process.getuid?.() === 0;
  const apt = (...args: string[]) =>
    run('apt-get', [...PATIENCE, '-q', '-o', 'APT::Sandbox::User=root', ...args], variables, { cwd: temporary });
  try {
    let fetched = await apt('download', 'prometheus');
    if (fetched.code !== 0 && isRoot && (await apt('update')).code === 0) fetched = await apt('download', 'prometheus');
    if (fetched.code !== 0) return fetched.err.trim().split('\n').at(-1) || 'there is no apt-get';
    const [file = ''] = (await readdir(temporary)).filter((name) => name.endsWith('.deb'));
    const unpacked = await run('dpkg-deb', ['-x', join(temporary, file), join(temporary, 'package')], variables);
    if (unpacked.code !== 0) return unpacked.err.trim();
    await rm(join(dir, 'package'), { recursive: true, force: true });
    await rename(join(temporary, 'package'), join(dir, 'package'));
    return undefined;
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
}
