import { readFile } from 'node:fs/promises';
import type { KeyPairPem } from '../control-plane/certificates.ts';

/** Returns the given certificate, or a new one that no client trusts. */
export async function servingCertificate(
  certFile: string | undefined,
  keyFile: string | undefined,
  commonName: string,
): Promise<KeyPairPem> {
  if (certFile !== undefined && keyFile !== undefined) {
    return { cert: await readFile(certFile, 'utf8'), key: await readFile(keyFile, 'utf8') };
  }
  if (certFile !== undefined || keyFile !== undefined) throw new Error('--cert-file and --key-file go together');
  // Loading it is half of what the start of a stand-in costs, and most are given a certificate or need none.
  const { createCertificateAuthority } = await import('../control-plane/certificates.ts');
  const authority = await createCertificateAuthority(`${commonName} throwaway CA`);
  return authority.issue({ commonName, hosts: [commonName, 'localhost', '127.0.0.1'] });
}
