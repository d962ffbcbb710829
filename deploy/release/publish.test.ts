import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { Release } from './artifacts.ts';
import { publish } from './publish.ts';

const ORIGIN = { revision: 'abc', source: undefined, builder: 'urn:b', invocation: undefined };

/** What the commands are called with, one after the other. That crane and cosign take it is seen in a trial. */
async function published(insecure: boolean) {
  const dir = mkdtempSync(path.join(tmpdir(), 'rollcall-publish-'));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  const release: Release = {
    version: '1.2.3',
    registry: 'registry.example/team',
    dir,
    image: {
      name: 'registry.example/team/rollcall',
      digest: 'sha256:image',
      layout: 'oci',
      platforms: ['amd64', 'arm64'].map((each) => ({ platform: each, digest: `sha256:${each}`, sbom: `${each}.json` })),
    },
    chart: { name: 'registry.example/team/charts/rollcall', digest: 'sha256:chart', layout: 'chart' },
    files: ['a.tgz', 'SHA256SUMS'],
    checksums: path.join(dir, 'SHA256SUMS'),
    notes: 'news\n',
  };
  const calls: string[] = [];
  const command = (name: string) => async (args: readonly string[]) => {
    await Promise.resolve();
    calls.push([name, ...args].join(' ').replaceAll(dir, 'DIR'));
  };
  const signing = { crane: command('crane'), cosign: command('cosign'), options: ['--key=k'], insecure };
  await publish(release, ORIGIN, signing);
  const text = (file: string) => readFileSync(path.join(dir, file), 'utf8').replaceAll(dir, 'DIR');
  return { calls, text };
}

test('image and chart are pushed, then signed and attested by digest, each platform with what it is made of', async () => {
  const { calls, text } = await published(false);
  const [image, chart] = ['registry.example/team/rollcall', 'registry.example/team/charts/rollcall'];
  expect(calls).toEqual([
    `crane push --index oci ${image}:1.2.3`,
    `crane push chart ${chart}:1.2.3`,
    ...[`${image}@sha256:image`, `${chart}@sha256:chart`].flatMap((subject) => [
      `cosign sign --yes --key=k --recursive ${subject}`,
      `cosign attest --yes --key=k --type=slsaprovenance1 --predicate=DIR/provenance.json ${subject}`,
    ]),
    ...['amd64', 'arm64'].map(
      (each) => `cosign attest --yes --key=k --type=spdxjson --predicate=${each}.json ${image}@sha256:${each}`,
    ),
    'cosign sign-blob --yes --key=k --bundle=DIR/SHA256SUMS.sigstore.json DIR/SHA256SUMS',
  ]);
  expect(JSON.parse(text('provenance.json'))).toMatchObject({
    buildDefinition: { externalParameters: { version: '1.2.3', registry: 'registry.example/team' } },
  });
});

test('a registry without TLS is asked over HTTP by both, wherever they ask it', async () => {
  const { calls } = await published(true);
  for (const call of calls.filter((each) => !each.includes('sign-blob')))
    expect(call).toMatch(/^crane .* --insecure$|^cosign .* --allow-http-registry /);
  expect(calls.at(-1)).not.toContain('http');
});

test('what is offered for download is the files of the release and the signature, with its notes', async () => {
  const { text } = await published(false);
  expect(text('files.txt')).toBe('a.tgz\nSHA256SUMS\nDIR/SHA256SUMS.sigstore.json\n');
  expect(text('NOTES.md')).toBe('news\n');
});
