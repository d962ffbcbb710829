import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { imageCacheDir } from '../../deploy/image/cached-input.ts';
import { commit } from '../../deploy/image/commit.ts';
import { makeRelease, type Release, type ReleaseOptions } from '../../deploy/release/artifacts.ts';
import { buildPlugin } from '../../deploy/release/plugin.ts';
import { VERSION } from '../../packages/common/src/version.ts';
import { type Environment, readEnvironment } from '../control-plane/environment.ts';
import { run } from '../control-plane/run.ts';
import { findObstacle } from '../real-node/machine.ts';
import { type RealCluster, startRealCluster } from '../real-node/real-cluster.ts';
import { installByChart, installByCharts, installByManifests } from './installing.ts';
import { type Registry, startRegistry } from './registry.ts';
import { type TrialSigning, trialSigning } from './signing.ts';
import { expectFailure, expectSame, step } from './step.ts';

const RELEASE = path.resolve(import.meta.dirname, '../../deploy/release');
const DIST = path.join(RELEASE, 'dist');

try {
  await trial();
} catch (error) {
  process.stdout.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}

/** Runs `npm run release -- --dry-run`. */
async function trial(): Promise<void> {
  const environment = readEnvironment();
  const dir = await mkdtemp(path.join(tmpdir(), 'rollcall-release-'));
  const obstacle = await findObstacle();
  let cluster: RealCluster | undefined;
  let registry: Registry | undefined;
  try {
    if (obstacle === undefined) cluster = await step('two nodes', () => startRealCluster({ nodes: 2 }));
    // Nodes reach this machine by the address on their bridge.
    const host = cluster === undefined ? '127.0.0.1' : new URL(cluster.url).hostname;
    registry = await step('registry', () => startRegistry(host, dir, environment));
    const signing = await step('cosign and crane', () => trialSigning(dir, 'release', environment));
    const release = await build(registry.name, dir, environment);
    await step('pushed, signed and attested', () => publish(release, signing));
    await step('verified', () => verify(release, signing));
    await step('refused under another key', async () => {
      const { publicKey } = await trialSigning(dir, 'stranger', environment);
      await expectFailure(() => verify(release, { ...signing, publicKey }));
    });
    if (cluster === undefined) process.stdout.write(`Not installed, as no real nodes run here: ${obstacle}\n`);
    else await install(cluster, release);
    for (const file of release.files) process.stdout.write(`${file}\n`);
  } finally {
    await registry?.stop();
    await cluster?.stop();
    await rm(dir, { recursive: true, force: true });
  }
}

async function build(registry: string, dir: string, environment: Environment): Promise<Release> {
  const options: ReleaseOptions = {
    ...(await commit()),
    registry,
    dir: DIST,
    cacheDir: imageCacheDir(environment.variables),
    source: undefined,
    section: VERSION,
    pluginDir: await step('the plugin', async () => buildPlugin()),
  };
  const release = await step('built', () => makeRelease(options));
  await step('built again, with the same digests', async () => {
    const again = await makeRelease({ ...options, dir: path.join(dir, 'again') });
    for (const what of ['image', 'chart', 'crdChart'] as const) expectSame(again[what].digest, release[what].digest);
    expectSame(await readFile(again.checksums, 'utf8'), await readFile(release.checksums, 'utf8'));
  });
  return release;
}

/** Publishes by the script of the workflow. @throws when it fails, or published something else. */
async function publish({ dir, image, chart, crdChart }: Release, { env }: TrialSigning): Promise<void> {
  const { code, out, err } = await run(path.join(RELEASE, 'publish.sh'), [dir], env, { cwd: dir });
  if (code !== 0) throw new Error(`publish.sh ended with ${code}: ${err.trim()}`);
  const published = [
    `image-name=${image.name}`,
    `image-digest=${image.digest}`,
    `chart-name=${chart.name}`,
    `chart-digest=${chart.digest}`,
    `crd-chart-name=${crdChart.name}`,
    `crd-chart-digest=${crdChart.digest}`,
  ];
  expectSame(out.trim(), published.join('\n'));
}

/** Verifies every signature, as a user who trusts the public key would. */
async function verify(release: Release, { cosign, publicKey }: TrialSigning): Promise<void> {
  const { image, chart, crdChart, checksums } = release;
  const trust = [`--key=${publicKey}`, '--insecure-ignore-tlog'];
  const subjects = [image, ...image.platforms.map(({ digest }) => ({ name: image.name, digest })), chart, crdChart];
  for (const { name, digest } of subjects)
    await cosign(['verify', ...trust, '--allow-http-registry', `${name}@${digest}`]);
  for (const { digest } of image.platforms)
    await cosign([
      'verify-attestation',
      ...trust,
      '--allow-http-registry',
      '--type=spdxjson',
      `${image.name}@${digest}`,
    ]);
  await cosign(['verify-blob', ...trust, `--bundle=${checksums}.sigstore.json`, checksums]);
}

async function install(cluster: RealCluster, release: Release): Promise<void> {
  await cluster.trustRegistry(release.registry);
  try {
    await installInEachWay(cluster, release);
  } catch (error) {
    const events = ['get', 'pods,events', '--namespace=rollcall'];
    process.stdout.write(await cluster.kubectl(events));
    throw error;
  }
}

async function installInEachWay(cluster: RealCluster, release: Release): Promise<void> {
  await step('installed from both charts with Helm 3, with a NodeService as a value, and removed', () =>
    installByCharts(cluster, release),
  );
  await step('installed from the chart with Helm 4, and removed', () => installByChart(cluster, release));
  await step('installed from install.yaml, and removed', () => installByManifests(cluster, release));
}
