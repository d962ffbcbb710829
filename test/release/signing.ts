import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Signing } from '../../deploy/release/publish.ts';
import type { Environment } from '../control-plane/environment.ts';
import { run } from '../control-plane/run.ts';
import { ensureGoTool } from '../go-tools/go-tool.ts';

const DIR = path.join(import.meta.dirname, 'signing');

export type TrialSigning = Signing & {
  /** Path of the public key. */
  publicKey: string;
};

/**
 * cosign with a key of its own. The services of Sigstore are left out: no certificate of an identity, no entry in a
 * transparency log. All else is what a release does.
 */
export async function trialSigning(dir: string, keyName: string, environment: Environment): Promise<TrialSigning> {
  const tool = (name: string, of: string) => ensureGoTool({ name, package: of, dir: DIR }, environment);
  const cranePath = await tool('crane', 'github.com/google/go-containerregistry/cmd/crane');
  const cosignPath = await tool('cosign', 'github.com/sigstore/cosign/v3/cmd/cosign');
  const env = { ...environment.variables, COSIGN_PASSWORD: '' };
  const toEnd = async (command: string, args: readonly string[]) => {
    const { code, err } = await run(command, args, env, { cwd: dir });
    if (code !== 0) throw new Error(`${path.basename(command)} ${args[0]} ended with ${code}: ${err.trim()}`);
  };
  const cosign = (args: readonly string[]) => toEnd(cosignPath, args);
  await cosign(['generate-key-pair', `--output-key-prefix=${keyName}`]);
  const noServices = path.join(dir, 'signing-config.json');
  await writeFile(noServices, JSON.stringify({ mediaType: 'application/vnd.dev.sigstore.signingconfig.v0.2+json' }));
  return {
    crane: (args) => toEnd(cranePath, args),
    cosign,
    options: [`--key=${path.join(dir, `${keyName}.key`)}`, `--signing-config=${noServices}`],
    insecure: true,
    publicKey: path.join(dir, `${keyName}.pub`),
  };
}
