import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { hexOf } from '../image/cached-input.ts';
import { emptyDirectory, standInFor } from '../image/packed.test-fixtures.ts';

const IMAGE = 'registry.example:5000/team/rollcall';
const CHART = 'registry.example:5000/team/charts/rollcall';
const CRD_CHART = `${CHART}-crds`;

/** Runs publish.sh with stand-ins that note how they are called. That crane and cosign take it is seen in a dry run. */
function published(change: { image?: string; install?: string; checked?: string } = {}) {
  const { image = `${IMAGE}@sha256:image`, install = image, checked = install } = change;
  const dir = emptyDirectory();
  const files = {
    'install.yaml': `spec:\n  image: ${install}\n---\nspec:\n    image: ${install}\n`,
    'rollcall-1.2.3-rc.1.tgz': '',
    'rollcall-crds-1.2.3-rc.1.tgz': '',
    'rollcall-1.2.3-rc.1-linux-amd64.spdx.json': '',
    'rollcall-1.2.3-rc.1-linux-arm64.spdx.json': '',
    SHA256SUMS: `${hexOf(`spec:\n  image: ${checked}\n---\nspec:\n    image: ${checked}\n`)}  install.yaml\n`,
  };
  for (const [name, content] of Object.entries(files)) writeFileSync(path.join(dir, name), content);
  const calls = path.join(dir, 'calls');
  const note = (name: string) => `echo ${name} "$@" >> '${calls}'`;
  standInFor(
    process.env,
    'crane',
    `${note('crane')}
    case "$1 $2" in
      'push oci') echo '${image}';;
      'push chart') echo '${CHART}@sha256:chart';;
      'push chart-crds') echo '${CRD_CHART}@sha256:crds';;
      'digest --platform') echo "sha256:$(basename "$3")";;
    esac`,
  );
  standInFor(process.env, 'cosign', `${note('cosign')}; echo 'noise of cosign'`);
  const { status, stdout, stderr } = spawnSync(path.join(import.meta.dirname, 'publish.sh'), [dir], {
    encoding: 'utf8',
    env: process.env,
  });
  const called = existsSync(calls) ? readFileSync(calls, 'utf8').trim().split('\n') : [];
  return { status, stdout, stderr, called };
}

test('image and charts are pushed, then signed by digest, and the image of each platform gets its SBOM', () => {
  const { status, stdout, called } = published();
  expect(called).toEqual([
    `crane push oci ${IMAGE}:1.2.3-rc.1`,
    `crane push chart ${CHART}:1.2.3-rc.1`,
    `crane push chart-crds ${CRD_CHART}:1.2.3-rc.1`,
    `cosign sign --yes --recursive ${IMAGE}@sha256:image`,
    `cosign sign --yes --recursive ${CHART}@sha256:chart`,
    `cosign sign --yes --recursive ${CRD_CHART}@sha256:crds`,
    ...['amd64', 'arm64'].flatMap((arch) => [
      `crane digest --platform linux/${arch} ${IMAGE}@sha256:image`,
      `cosign attest --yes --type=spdxjson --predicate=rollcall-1.2.3-rc.1-linux-${arch}.spdx.json ${IMAGE}@sha256:${arch}`,
    ]),
    'cosign sign-blob --yes --bundle=SHA256SUMS.sigstore.json SHA256SUMS',
  ]);
  expect([status, stdout]).toEqual([
    0,
    `image-name=${IMAGE}\nimage-digest=sha256:image\nchart-name=${CHART}\nchart-digest=sha256:chart\n` +
      `crd-chart-name=${CRD_CHART}\ncrd-chart-digest=sha256:crds\n`,
  ]);
});

test('nothing is pushed of files that are not those that were built', () => {
  const { status, stderr, called } = published({ checked: 'another' });
  expect([status, called]).toEqual([1, []]);
  expect(stderr).toContain('install.yaml: FAILED');
});

test('nothing is signed where the registry has another image than the chart names', () => {
  const { status, stderr, called } = published({ install: `${IMAGE}@sha256:built`, image: `${IMAGE}@sha256:other` });
  expect([status, called]).toEqual([1, [`crane push oci ${IMAGE}:1.2.3-rc.1`]]);
  expect(stderr).toContain(`name ${IMAGE}@sha256:built, but ${IMAGE}@sha256:other was pushed`);
});
