import type { Server } from 'node:https';
import type { CertificateHolder, KeyPair } from './certificate-holder.ts';

/** The oldest version that is spoken; agents speak 1.3. */
export const TLS_VERSION_MIN = 'TLSv1.2';

/**
 * Lets `server` present the current certificate, now and after every change. Connections that are open stay as they
 * are. While there is none yet, handshakes fail and clients come back.
 */
export function serveCurrentCertificate(server: Server, certificates: CertificateHolder): void {
  const present = ({ cert, key }: KeyPair) => server.setSecureContext({ cert, key, minVersion: TLS_VERSION_MIN });
  if (certificates.current) present(certificates.current);
  server.once('close', certificates.onChange(present));
}
