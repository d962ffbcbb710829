import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { KubeObject } from '../control-plane/api-client.ts';
import { type ControlPlane, startControlPlane } from '../control-plane/control-plane.ts';
import { ensureHelm, HELM_VERSIONS, type Helm } from '../helm/helm.ts';
import { CHART, CRD_CHART, CRDS, type Values } from './render.ts';

const CRD_PATH = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
/** Without what has nothing to do with CRDs: Helm asks for each object. */
const FEW_OBJECTS: Values = {
  networkPolicy: { enabled: false },
  policies: { fence: { enabled: false } },
  priorityClass: { create: false },
  rbac: { create: false },
  rules: { accelerators: false },
  serviceAccount: { create: false },
  uninstall: { prune: false },
};
const CRDS_ELSEWHERE: Values = { crds: { install: false } };
const HOLD = { pods: { namespace: 'default', selector: { matchLabels: { app: 'mine' } } } };
const OBJECTS: Values = {
  services: { mine: { checks: [{ name: 'port', tcp: { port: 1 } }] } },
  holds: { mine: HOLD },
};

type Crd = KubeObject & { spec: { group: string; names: { plural: string; shortNames: string[] } } };

describe.each(HELM_VERSIONS)('with the chart of the CRDs and Helm %d', (major) => {
  let run: Helm;
  let controlPlane: ControlPlane;

  beforeAll(async () => {
    [run, controlPlane] = await Promise.all([ensureHelm(major), startControlPlane()]);
  }, 600_000);

  afterEach(async () => {
    await helm(['uninstall', 'rollcall', 'rollcall-crds', '--ignore-not-found']);
    await controlPlane.kubectl(['delete', '--ignore-not-found', '-f', CRDS]);
  });

  afterAll(() => controlPlane?.stop());

  /** No kubelet runs the Job of the hook. */
  function helm([verb = '', ...args]: readonly string[], values: Values = {}): Promise<string> {
    const more = verb === 'uninstall' ? ['--no-hooks'] : ['--values', '-'];
    const { kubeconfig } = controlPlane;
    const stdin = JSON.stringify(args.includes(CHART) ? { ...FEW_OBJECTS, ...values } : values);
    return run([verb, ...args, '--namespace', 'rollcall', ...more], { kubeconfig, stdin });
  }

  function installCrds(chart = CRD_CHART, values: Values = {}, args: readonly string[] = []): Promise<string> {
    return helm(['install', 'rollcall-crds', chart, '--create-namespace', '--wait', ...args], values);
  }

  function install(values: Values): Promise<string> {
    return helm(['install', 'rollcall', CHART, '--create-namespace'], values);
  }

  async function crds(): Promise<Crd[]> {
    const all = await controlPlane.api.list<Crd>(CRD_PATH);
    return all.filter(({ spec }) => ['rollcall.dev', 'labels.banzaicloud.io'].includes(spec.group));
  }

  /** Releases that own CRDs. */
  async function owners(): Promise<unknown[]> {
    const releases = (await crds()).map(({ metadata }) => metadata.annotations?.['meta.helm.sh/release-name']);
    return [...new Set(releases)];
  }

  /** CRDs, NodeServices and NodeHolds; one that was deleted and created again is another. */
  async function uids(): Promise<unknown[]> {
    const kinds = ['nodeservices', 'nodeholds'].map((plural) => `/apis/rollcall.dev/v1alpha1/${plural}`);
    const objects = await Promise.all(kinds.map((kind) => controlPlane.api.list(kind)));
    return [await crds(), ...objects].flatMap((list) => list.map(({ metadata }) => metadata.uid));
  }

  test('services and holds are values of the first installation, and are refused without it', async () => {
    await expect(install(OBJECTS)).rejects.toThrow(
      /services, holds: .* Install the chart rollcall-crds first and set crds\.install=false/,
    );
    await installCrds();
    await install({ ...OBJECTS, ...CRDS_ELSEWHERE });
    expect(await uids()).toHaveLength(4 + 2);
  });

  test('an upgrade upgrades the CRDs', async () => {
    const earlier = await mkdtemp(path.join(tmpdir(), 'rollcall-chart-'));
    onTestFinished(() => rm(earlier, { recursive: true }));
    await cp(CRD_CHART, earlier, { recursive: true });
    const file = path.join(earlier, 'templates/nodeholds.yaml');
    await writeFile(file, (await readFile(file, 'utf8')).replace('      - nh\n', '      - earlier\n'));
    const shortNames = async () =>
      (await crds()).find(({ spec }) => spec.names.plural === 'nodeholds')?.spec.names.shortNames;
    await installCrds(earlier);
    expect(await shortNames()).toEqual(['earlier']);
    await helm(['upgrade', 'rollcall-crds', CRD_CHART]);
    expect(await shortNames()).toEqual(['nh']);
  });

  test('the CRDs stay with their objects when it is uninstalled, unless keep is false', async () => {
    await installCrds();
    await install({ ...OBJECTS, ...CRDS_ELSEWHERE });
    const before = await uids();
    await helm(['uninstall', 'rollcall-crds']);
    expect(await uids()).toEqual(before);
    await installCrds(CRD_CHART, { keep: false });
    await helm(['uninstall', 'rollcall-crds', '--wait']);
    expect(await crds()).toEqual([]);
  });

  test('the CRDs move from the release to it and back, and no object is lost', async () => {
    // The release would delete what it alone owns.
    const keepNothing = { crds: { keep: false } };
    await install(keepNothing);
    await helm(['upgrade', 'rollcall', CHART], { ...OBJECTS, ...keepNothing });
    const before = await uids();
    await expect(installCrds()).rejects.toThrow('invalid ownership metadata');
    await installCrds(CRD_CHART, {}, ['--take-ownership']);
    await helm(['upgrade', 'rollcall', CHART], { ...OBJECTS, ...CRDS_ELSEWHERE });
    expect([await uids(), await owners()]).toEqual([before, ['rollcall-crds']]);
    await helm(['upgrade', 'rollcall', CHART, '--take-ownership'], { ...OBJECTS, ...keepNothing });
    await helm(['uninstall', 'rollcall-crds']);
    expect([await uids(), await owners()]).toEqual([before, ['rollcall']]);
  });
});
