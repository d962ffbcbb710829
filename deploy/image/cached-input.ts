import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';

const OUTPUT_BYTES_MAX = 256 * 1024 * 1024;

/** Something that the build takes from this machine or from the network, and that is not to be had. */
export class MissingInput extends Error {
  override readonly name: string = 'MissingInput';
}

/** An input that no server gives at the moment: the only reason for which a test in CI may do without it. */
export class UnreachableInput extends MissingInput {
  override readonly name = 'UnreachableInput';
}

/** Returns the directory of downloads, from the environment of the process. */
export function imageCacheDir(variables: NodeJS.ProcessEnv): string {
  return path.join(variables['XDG_CACHE_HOME'] || path.join(homedir(), '.cache'), 'rollcall', 'image');
}

export type Hash = { algorithm: 'sha256' | 'sha512'; hex: string };

/**
 * A file from the cache, where it is kept under its hash, or else from where `fetchInto` gets it. Either way its
 * content is what the hash says.
 * @throws {MissingInput} when it cannot be fetched, or is not what was expected.
 */
export async function cachedInput(
  cacheDir: string,
  hash: Hash,
  what: string,
  fetchInto: (dir: string) => Promise<string>,
): Promise<Buffer> {
  const file = path.join(cacheDir, `${hash.algorithm}-${hash.hex}`);
  const kept = await readFile(file).catch(() => undefined);
  if (kept && hexOf(kept, hash.algorithm) === hash.hex) return kept;
  await mkdir(cacheDir, { recursive: true });
  const dir = await mkdtemp(path.join(cacheDir, 'fetching-'));
  try {
    const fetched = await fetchInto(dir);
    const content = await readFile(fetched);
    const got = hexOf(content, hash.algorithm);
    if (got !== hash.hex) throw new MissingInput(`${what}: its ${hash.algorithm} is ${got}, not ${hash.hex}`);
    await rename(fetched, file);
    return content;
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

export function hexOf(content: Buffer | string, algorithm: Hash['algorithm'] = 'sha256'): string {
  return createHash(algorithm).update(content).digest('hex');
}

/** Standard output of a command. @throws {MissingInput} when it fails or is not installed. */
export async function outputOf(command: string, args: readonly string[], cwd?: string): Promise<Buffer> {
  try {
    const options = { encoding: 'buffer', maxBuffer: OUTPUT_BYTES_MAX, ...(cwd === undefined ? {} : { cwd }) } as const;
    return (await promisify(execFile)(command, args, options)).stdout;
  } catch (error) {
    const { code, stderr } = error as { code?: unknown; stderr?: Buffer };
    // The first lines say it: npm goes on with a stack, and apt begins with warnings.
    const said = `${stderr ?? ''}`.split('\n').filter((line) => line !== '' && !line.startsWith('W: '));
    const reason = code === 'ENOENT' ? 'not installed on this machine' : said.slice(0, 3).join('; ') || String(error);
    throw new MissingInput(`${path.basename(command)}: ${reason}`);
  }
}
