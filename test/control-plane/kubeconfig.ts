import { writeFile } from 'node:fs/promises';
import type { KeyPairPem } from './certificates.ts';

/** How a kubeconfig's user proves who it is. */
export type Credential = { readonly token: string } | { readonly clientCert: KeyPairPem };

/** Writes a kubeconfig with one cluster and one user, everything inline. JSON, which is YAML. */
export async function writeKubeconfig(file: string, url: string, ca: string, credential: Credential): Promise<void> {
  const user =
    'token' in credential
      ? { token: credential.token }
      : {
          'client-certificate-data': base64(credential.clientCert.cert),
          'client-key-data': base64(credential.clientCert.key),
        };
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'test', cluster: { server: url, 'certificate-authority-data': base64(ca) } }],
    users: [{ name: 'test', user }],
    contexts: [{ name: 'test', context: { cluster: 'test', user: 'test' } }],
    'current-context': 'test',
  };
  await writeFile(file, `${JSON.stringify(config, null, 2)}\n`, { mode: 0o600 });
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}
