import { createHash } from 'node:crypto';
import { access, cp, mkdir, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { buildOnce } from '../control-plane/build-once.ts';
import { Component } from '../control-plane/component.ts';
import type { ControlPlane } from '../control-plane/control-plane.ts';
import { type Environment, readEnvironment } from '../control-plane/environment.ts';
import { freePort } from '../control-plane/ports.ts';
import { run } from '../control-plane/run.ts';
import { httpGet } from '../rig/http-get.ts';

/** Karpenter with its KWOK provider, which makes Nodes without machines. */
export type Karpenter = { command: string; crdsDir: string };

const MODULE = 'sigs.k8s.io/karpenter';
/** The CRDs of Karpenter and of its provider. */
const CRDS = ['pkg/apis/crds', 'kwok/apis/crds'];

/** Finds Karpenter in the cache, with its CRDs, or builds it into there from the module in this folder. */
export async function ensureKarpenter(environment: Environment = readEnvironment()): Promise<Karpenter> {
  const dir = import.meta.dirname;
  const requirements = await Promise.all(['go.mod', 'go.sum'].map((file) => readFile(join(dir, file), 'utf8')));
  const version = new RegExp(`${MODULE} v(\\S+)`).exec(requirements[0] ?? '')?.[1];
  const hash = createHash('sha256').update(requirements.join('\0')).digest('hex').slice(0, 12);
  const place = `${version}-${environment.os}-${environment.arch}-${hash}`;
  const cacheDir = join(dirname(environment.cacheRoot), 'karpenter', place);
  const [command, crdsDir] = [join(cacheDir, 'karpenter'), join(cacheDir, 'crds')];
  const isThere = () =>
    access(command).then(
      () => true,
      () => false,
    );
  if (await isThere()) return { command, crdsDir };
  // Before the program, which says that all is there.
  await copyCrds(dir, crdsDir, environment);
  const built = { dir, package: `${MODULE}/kwok`, linkerFlags: '-s -w' };
  await buildOnce({ name: `karpenter ${version}`, file: command, isThere }, built, environment);
  return { command, crdsDir };
}

async function copyCrds(dir: string, to: string, { goCommand, variables }: Environment): Promise<void> {
  const download = await run(goCommand, ['mod', 'download', MODULE], variables, { cwd: dir });
  const list = await run(goCommand, ['list', '-m', '-f', '{{.Dir}}', MODULE], variables, { cwd: dir });
  if (list.code !== 0) throw new Error(`${MODULE} is not to be had: ${download.err.trim()} ${list.err.trim()}`);
  await mkdir(to, { recursive: true });
  for (const folder of CRDS) await cp(join(list.out.trim(), folder), to, { recursive: true });
}

/** Applies its CRDs and starts it; resolves when it is ready. */
export async function startKarpenter(controlPlane: ControlPlane): Promise<Component> {
  const environment = readEnvironment();
  const { command, crdsDir } = await ensureKarpenter(environment);
  await controlPlane.kubectl(['apply', '--server-side', '-f', crdsDir]);
  await controlPlane.kubectl(['wait', '--for=condition=Established', '--timeout=60s', 'crd', '--all']);
  const [metricsPort, healthPort] = [await freePort(), await freePort()];
  const component = new Component({
    name: 'karpenter',
    command,
    args: [
      '-disable-leader-election',
      ...['-metrics-port', String(metricsPort)],
      ...['-health-probe-port', String(healthPort)],
    ],
    env: {
      ...environment.variables,
      KUBECONFIG: controlPlane.kubeconfig,
      SYSTEM_NAMESPACE: 'default',
      KUBERNETES_MIN_VERSION: '1.25.0',
    },
    logFile: join(controlPlane.dir, 'karpenter.log'),
    cwd: controlPlane.dir,
    isReady: async () => (await httpGet(`http://127.0.0.1:${healthPort}/readyz`)).status === 200,
  });
  await component.start();
  return component;
}
