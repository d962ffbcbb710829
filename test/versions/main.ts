import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { ensureBinaries } from '../control-plane/binaries.ts';
import { readEnvironment } from '../control-plane/environment.ts';
import { testsFor, VERSIONS } from './versions.ts';

/** Runs the core of the end-to-end tests on the API server of each version in turn; exits with 1 if a version fails. */
const root = path.resolve(import.meta.dirname, '../..');
const wanted = process.argv.slice(2);
const odd = wanted.find((version) => !VERSIONS.includes(version));
if (odd !== undefined) {
  process.stderr.write(`${odd} is not one of ${VERSIONS.join(', ')}\n`);
  process.exit(2);
}

const results: string[] = [];
for (const version of wanted.length > 0 ? wanted : VERSIONS) {
  const apiServer = await apiServerOf(version);
  process.stdout.write(`\nKubernetes ${version}: ${apiServer}\n`);
  // What is not in this directory is found where it always is: etcd and kubectl of the newest version.
  // biome-ignore lint/style/noProcessEnv: vitest needs all of it
  const env = { ...process.env, KUBEBUILDER_ASSETS: path.dirname(apiServer) };
  const vitest = ['vitest', 'run', '--project', 'e2e', '--project', 'e2e-alone', ...testsFor(version)];
  const { status } = spawnSync('npx', vitest, { cwd: root, env, stdio: 'inherit' });
  results.push(`Kubernetes ${version}: ${status === 0 ? 'passed' : 'failed'}`);
  if (status !== 0) process.exitCode = 1;
}
process.stdout.write(`\n${results.join('\n')}\n`);

/** The cached API server of a minor version, or one that is built now. */
async function apiServerOf(version: string): Promise<string> {
  const found = await ensureBinaries({
    names: ['kube-apiserver'],
    moduleDir: path.join(import.meta.dirname, version),
    // KUBEBUILDER_ASSETS and the pinned archives have the newest version.
    environment: { ...readEnvironment(), assetsDir: undefined },
    archives: [],
  });
  return found['kube-apiserver'];
}
