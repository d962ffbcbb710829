import type { BinaryName } from './binaries.ts';
import { exitOf, indentLastLines, spawnChild } from './child.ts';
import type { Environment } from './environment.ts';
import type { ToolsModule } from './tools-module.ts';

const packages: Record<BinaryName, string> = {
  etcd: 'go.etcd.io/etcd/server/v3',
  'kube-apiserver': 'k8s.io/kubernetes/cmd/kube-apiserver',
  'kube-scheduler': 'k8s.io/kubernetes/cmd/kube-scheduler',
  kubectl: 'k8s.io/kubernetes/cmd/kubectl',
};

/** Builds one binary into `file`. @throws saying what is missing, or with the last lines of what Go said. */
export async function goBuild(
  name: BinaryName,
  file: string,
  module: ToolsModule,
  environment: Environment,
): Promise<void> {
  const [major, minor] = module.kubernetesVersion.split('.');
  const version = 'k8s.io/component-base/version';
  const ldflags = [
    '-s -w',
    `-X ${version}.gitVersion=v${module.kubernetesVersion}`,
    `-X ${version}.gitMajor=${major}`,
    `-X ${version}.gitMinor=${minor}`,
  ].join(' ');
  await checkGo(environment);
  const child = spawnChild(environment.goCommand, {
    args: ['build', '-trimpath', '-ldflags', ldflags, '-o', file, packages[name]],
    cwd: module.dir,
    env: { ...environment.variables, CGO_ENABLED: '0' },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let said = '';
  child.stderr?.setEncoding('utf8').on('data', (chunk: string) => {
    said = (said + chunk).slice(-20_000);
  });
  await exitOf(child);
  if (child.exitCode === 0) return;
  throw new Error(`ended with ${child.signalCode ?? child.exitCode}:\n${indentLastLines(said)}`);
}

/** Checked on its own, because a missing command shows in another way when it is started through a wrapper. */
async function checkGo(environment: Environment): Promise<void> {
  const child = spawnChild(environment.goCommand, {
    args: ['version'],
    stdio: 'ignore',
    env: environment.variables,
  });
  await exitOf(child);
  if (child.exitCode !== 0) throw new Error('go not found on PATH — install Go ≥ 1.26 or set KUBEBUILDER_ASSETS');
}
