import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Environment } from '../control-plane/environment.ts';
import { run } from '../control-plane/run.ts';
import { ensureGoTool } from '../go-tools/go-tool.ts';

const DIR = path.join(import.meta.dirname, 'signing');

export type TrialSigning = {
  /** Variables for publish.sh: finds a crane and a cosign that ask the registry over HTTP and sign by the key. */
  env: NodeJS.ProcessEnv;
  /** @throws with what it said, when it fails. */
  cosign: (args: readonly string[]) => Promise<void>;
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
  const env: NodeJS.ProcessEnv = { ...environment.variables, COSIGN_PASSWORD: '' };
  const cosign = async (args: readonly string[]) => {
    const { code, err } = await run(cosignPath, args, env, { cwd: dir });
    if (code !== 0) throw new Error(`cosign ${args[0]} ended with ${code}: ${err.trim()}`);
  };
  await cosign(['generate-key-pair', `--output-key-prefix=${keyName}`]);
  const noServices = path.join(dir, 'signing-config.json');
  await writeFile(noServices, JSON.stringify({ mediaType: 'application/vnd.dev.sigstore.signingconfig.v0.2+json' }));

  const bin = path.join(dir, `bin-of-${keyName}`);
  const command = (name: string, script: string) =>
    writeFile(path.join(bin, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  await mkdir(bin);
  await command('crane', `exec '${cranePath}' "$@" --insecure`);
  const key = `--key='${path.join(dir, `${keyName}.key`)}' --signing-config='${noServices}'`;
  await command(
    'cosign',
    `[ "$1" = sign-blob ] || set -- "$@" --allow-http-registry\nexec '${cosignPath}' "$@" ${key}`,
  );
  return {
    env: { ...env, PATH: `${bin}:${env['PATH']}` },
    cosign,
    publicKey: path.join(dir, `${keyName}.pub`),
  };
}
