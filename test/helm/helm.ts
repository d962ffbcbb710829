import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Environment, readEnvironment } from '../control-plane/environment.ts';
import { type Outcome, run } from '../control-plane/run.ts';
import { ensureGoTool, type GoTool, goToolDir } from '../go-tools/go-tool.ts';

/** Runs Helm and returns what it printed. @throws with what it said on standard error. */
export type Helm = (args: readonly string[], options?: HelmOptions) => Promise<string>;

type HelmOptions = {
  kubeconfig?: string;
  stdin?: string;
  /** Also returns standard error, such as logs of hooks. */
  withErrors?: boolean;
};

/** Major versions that the chart is for; each has a Go module that says which version is tested. */
export const HELM_VERSIONS = [3, 4] as const;
type Major = (typeof HELM_VERSIONS)[number];

const MODULES: Readonly<Record<Major, string>> = { 3: import.meta.dirname, 4: join(import.meta.dirname, 'v4') };

/**
 * Finds Helm at the first place that has the version that the module requires: KUBEBUILDER_ASSETS, the PATH, the cache;
 * else builds it into the cache, which takes a minute or two the first time.
 */
export async function ensureHelm(major: Major = 3, environment: Environment = readEnvironment()): Promise<Helm> {
  const { tool, version } = await helmModule(major);
  const dir = await goToolDir(tool, environment);
  const places = [...(environment.assetsDir ? [join(environment.assetsDir, 'helm')] : []), 'helm'];
  for (const place of places) {
    const { code, out } = await run(place, ['version', '--template', '{{.Version}}'], environment.variables);
    if (code === 0 && out.trim() === `v${version}`) return helmAt(place, dir, environment);
  }
  return helmAt(await ensureGoTool(tool, environment), dir, environment);
}

/** @throws when its go.mod does not require Helm and its Kubernetes client. */
async function helmModule(major: Major): Promise<{ tool: GoTool; version: string }> {
  const dir = MODULES[major];
  const goMod = await readFile(join(dir, 'go.mod'), 'utf8');
  const versionOf = (module: string) => {
    const found = new RegExp(`^\\s*${module.replaceAll('.', '\\.')} v(\\S+)`, 'm').exec(goMod)?.[1];
    if (found === undefined) throw new Error(`${join(dir, 'go.mod')} does not require ${module}`);
    return found;
  };
  const module = `helm.sh/helm/v${major}`;
  const version = versionOf(module);
  const [, minor] = versionOf('k8s.io/client-go').split('.');
  // Without a cluster, Helm 3 takes the version of Kubernetes from these, as its own build sets them; Helm 4 has its own way.
  const kubernetes = [`${module}/pkg/chartutil`, `${module}/pkg/lint/rules`].flatMap((place) => [
    `-X ${place}.k8sVersionMajor=1`,
    `-X ${place}.k8sVersionMinor=${minor}`,
  ]);
  const linkerFlags = [`-X ${module}/internal/version.version=v${version}`, ...(major === 3 ? kubernetes : [])];
  return { tool: { name: 'helm', package: `${module}/cmd/helm`, dir, linkerFlags }, version };
}

function helmAt(command: string, dir: string, { variables }: Environment): Helm {
  return async (args, { kubeconfig, stdin, withErrors } = {}) => {
    const folders = { HELM_CACHE_HOME: dir, HELM_CONFIG_HOME: dir, HELM_DATA_HOME: dir };
    const env = { ...variables, ...folders, KUBECONFIG: kubeconfig ?? '/dev/null' };
    const outcome: Outcome = await run(command, args, env, stdin === undefined ? {} : { stdin });
    if (outcome.code === 0) return withErrors ? outcome.out + outcome.err : outcome.out;
    throw new Error(`helm ${args.join(' ')} ended with ${outcome.code}: ${outcome.err.trim()}`);
  };
}
