import { spawn } from 'node:child_process';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parse } from 'yaml';
import { archiveName, DEFAULT_REFERENCE } from '../../deploy/image/output.ts';
import { PLATFORMS } from '../../deploy/image/platforms.ts';
import { CHART, objectsIn, type PodTemplate, workloads } from '../chart/render.ts';
import { killChild } from '../control-plane/child.ts';
import { type ControlPlane, startControlPlane } from '../control-plane/control-plane.ts';
import { freePort } from '../control-plane/ports.ts';
import { waitFor } from '../control-plane/wait-for.ts';
import { ensureHelm } from '../helm/helm.ts';
import { httpGet } from '../rig/http-get.ts';
import { commandsOf } from './tutorial-page.ts';

/*
 * The variant of the tutorial on kind, without Docker: what its commands name fits together, and an API server accepts
 * its objects.
 */
const COMMANDS = commandsOf('On kind instead');
const MANIFEST = /kubectl apply -f - <<'EOF'\n([\s\S]*?)^EOF$/m.exec(COMMANDS)?.[1] ?? '';
const [CONTAINER = expect.unreachable()] = (parse(MANIFEST) as { spec: { template: PodTemplate } }).spec.template.spec
  .containers;

let controlPlane: ControlPlane;

beforeAll(async () => {
  controlPlane = await startControlPlane();
}, 120_000);

afterAll(() => controlPlane?.stop());

test('the archive that is loaded is the one that the build writes, for either architecture', () => {
  for (const { architecture } of PLATFORMS) {
    const loaded = COMMANDS.replace('$(dpkg --print-architecture)', architecture);
    expect(loaded).toContain(`kind load image-archive "deploy/image/dist/${archiveName(architecture)}"`);
  }
});

test('the chart as it is installed, and the mirror, ask for the image in the archive', async () => {
  const [, args = ''] = /^helm install (.*) --wait$/m.exec(COMMANDS) ?? [];
  const helm = await ensureHelm();
  const rendered = await helm(['template', ...args.replace('deploy/chart', CHART).split(' ')]);
  const pods = workloads(objectsIn(rendered)).map(({ template }) => template.spec);
  const images = [...pods.flatMap(({ containers }) => containers), CONTAINER].map(({ image }) => image);
  expect(images.length).toBeGreaterThan(3);
  expect(new Set(images)).toEqual(new Set([DEFAULT_REFERENCE]));
});

test('an API server accepts the mirror', async () => {
  const { kubectl } = controlPlane;
  expect(await kubectl(['apply', '--dry-run=server', '-f', '-'], { stdin: MANIFEST })).toMatch(
    /daemonset.apps\/mirror/,
  );
});

test('the mirror answers as a registry does', async () => {
  const port = await freePort();
  const args = CONTAINER.args.map((arg) => arg.replace('listen(5000)', `listen(${port})`));
  const mirror = spawn(process.execPath, args, { stdio: 'ignore' });
  try {
    const answer = () => httpGet(`http://127.0.0.1:${port}/v2/`).catch(() => undefined);
    expect((await waitFor('the mirror', answer)).status).toBe(200);
  } finally {
    await killChild(mirror);
  }
});
