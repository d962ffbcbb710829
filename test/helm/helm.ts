import { mkdir, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { indentLastLines } from '../control-plane/child.ts';
import { type Environment, readEnvironment } from '../control-plane/environment.ts';
import { withFileLock } from '../control-plane/file-lock.ts';
import { showProgress } from '../control-plane/progress.ts';
import { readToolsModule } from './module.ts';
import { type Outcome, run } from './run.ts';

/** Runs Helm and returns what it printed. @throws with what it said on standard error. */
export type Helm = (args: readonly string[], options?: { kubeconfig?: string; stdin?: string }) => Promise<string>;

/**
 * Finds Helm at the first place that has the version that the module in this folder requires: KUBEBUILDER_ASSETS, the
 * PATH, the cache; else builds it into the cache, which takes a minute or two the first time.
 */
export async function ensureHelm(environment: Environment = readEnvironment()): Promise<Helm> {
  const module = await readToolsModule(import.meta.dirname);
  const cacheDir = join(
    dirname(environment.cacheRoot),
    'helm',
    `${module.version}-${environment.os}-${environment.arch}-${module.hash}`,
  );
  const cached = join(cacheDir, 'helm');
  const isIt = async (command: string) => {
    const { code, out } = await run(command, ['version', '--template', '{{.Version}}'], environment.variables);
    return code === 0 && out.trim() === `v${module.version}`;
  };
  const places = [...(environment.assetsDir ? [join(environment.assetsDir, 'helm')] : []), 'helm', cached];
  for (const place of places) if (await isIt(place)) return helmAt(place, cacheDir, environment);

  await mkdir(cacheDir, { recursive: true });
  const progress = showProgress(process.stderr, 'helm: building with Go, which takes a minute or two the first time');
  await withFileLock(join(cacheDir, 'lock'), async () => {
    if (await isIt(cached)) return;
    const temporary = `${cached}-${process.pid}`;
    const args = ['build', '-trimpath', '-ldflags', module.linkerFlags, '-o', temporary, module.package];
    const env = { ...environment.variables, CGO_ENABLED: '0' };
    const { code, err } = await run(environment.goCommand, args, env, { cwd: module.dir });
    if (code !== 0) {
      await rm(temporary, { force: true });
      throw new Error(
        `helm ${module.version} is not to be had, and go build ended with ${code}:\n${indentLastLines(err)}`,
      );
    }
    await rename(temporary, cached);
  }).finally(() => progress.end());
  return helmAt(cached, cacheDir, environment);
}

function helmAt(command: string, dir: string, { variables }: Environment): Helm {
  return async (args, { kubeconfig, stdin } = {}) => {
    const folders = { HELM_CACHE_HOME: dir, HELM_CONFIG_HOME: dir, HELM_DATA_HOME: dir };
    const env = { ...variables, ...folders, KUBECONFIG: kubeconfig ?? '/dev/null' };
    const outcome: Outcome = await run(command, args, env, stdin === undefined ? {} : { stdin });
    if (outcome.code === 0) return outcome.out;
    throw new Error(`helm ${args.join(' ')} ended with ${outcome.code}: ${outcome.err.trim()}`);
  };
}
