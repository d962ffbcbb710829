import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Release } from './artifacts.ts';
import { type Origin, provenance } from './provenance.ts';

/** Runs a command to its end. @throws with what it said, when it fails. */
type Command = (args: readonly string[]) => Promise<unknown>;

export type Signing = {
  crane: Command;
  cosign: Command;
  /** Options of every `cosign sign`, `attest` and `sign-blob`: by which key. None: the identity of the workflow. */
  options: readonly string[];
  /** The registry is asked over HTTP. */
  insecure: boolean;
};

/**
 * Pushes the image and the chart, and signs and attests both by digest: what the image is made of (SPDX) for each
 * platform, where everything comes from (SLSA provenance) for both. Signs the list of checksums. Leaves `NOTES.md`, and
 * `files.txt`, which names all that is to be offered with it.
 */
export async function publish(release: Release, origin: Origin, signing: Signing): Promise<void> {
  const { dir, image, chart, version } = release;
  const insecure = signing.insecure ? ['--insecure'] : [];
  const crane = (...args: string[]) => signing.crane([...args, ...insecure]);
  const cosign = (command: string, ...args: string[]) =>
    signing.cosign([command, '--yes', ...signing.options, ...args]);
  const http = signing.insecure ? ['--allow-http-registry'] : [];

  await crane('push', '--index', image.layout, `${image.name}:${version}`);
  await crane('push', chart.layout, `${chart.name}:${version}`);

  const predicate = path.join(dir, 'provenance.json');
  const parameters = { version, registry: release.registry };
  await writeFile(predicate, `${JSON.stringify(provenance(origin, parameters), null, 2)}\n`);
  for (const { name, digest } of [image, chart]) {
    const subject = `${name}@${digest}`;
    // Recursively, so that a client that pulls one platform by its own digest finds a signature as well.
    await cosign('sign', '--recursive', ...http, subject);
    await cosign('attest', '--type=slsaprovenance1', `--predicate=${predicate}`, ...http, subject);
  }
  for (const { digest, sbom } of image.platforms)
    await cosign('attest', '--type=spdxjson', `--predicate=${sbom}`, ...http, `${image.name}@${digest}`);
  const signature = `${release.checksums}.sigstore.json`;
  await cosign('sign-blob', `--bundle=${signature}`, release.checksums);
  await writeFile(path.join(dir, 'NOTES.md'), release.notes);
  await writeFile(path.join(dir, 'files.txt'), [...release.files, signature].map((file) => `${file}\n`).join(''));
}
