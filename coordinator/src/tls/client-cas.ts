import { readFileSync } from 'node:fs';
import { configInvalid } from '@rollcall/common/config/load.ts';
import type { CoordinatorConfig } from '../model/config.ts';
import { parseCertificate } from './certificate-info.ts';

/**
 * Whose certificates are good for clients, PEM, one by one; `undefined` where clients need none. Throws CONFIG_INVALID
 * for a file that cannot be read, holds none, or one that is damaged.
 */
export function readClientCas({
  schedulerClientCaFile: file,
}: Pick<CoordinatorConfig, 'schedulerClientCaFile'>): string[] | undefined {
  if (file === undefined) return undefined;
  const flag = '--scheduler-client-ca-file';
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (cause) {
    throw configInvalid(flag, `cannot read ${file}`, cause);
  }
  const blocks = text.split(/(?=-----BEGIN )/).filter((block) => block.startsWith('-----BEGIN '));
  if (blocks.length === 0) throw configInvalid(flag, `${file} contains no PEM certificate`);
  try {
    return blocks.map((block) => parseCertificate(block).pem);
  } catch (cause) {
    throw configInvalid(flag, `${file} contains something other than PEM certificates`, cause);
  }
}
