import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { KeyPairPem } from '../control-plane/certificates.ts';

/** Paths of PEM files. */
export interface KeyPairFiles {
  readonly cert: string;
  readonly key: string;
}

export async function writeKeyPair(dir: string, name: string, pair: KeyPairPem): Promise<KeyPairFiles> {
  const files = { cert: join(dir, `${name}.crt`), key: join(dir, `${name}.key`) };
  await writeFile(files.cert, pair.cert);
  await writeFile(files.key, pair.key, { mode: 0o600 });
  return files;
}
