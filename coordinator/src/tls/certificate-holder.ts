import type { Server } from 'node:https';

/** A certificate (or chain, leaf first) and its private key, both PEM. */
export type KeyPair = {
  cert: string;
  key: string;
  /** The certificate (PEM) of who signed it, where that is known and not in the chain. */
  authority?: string;
};

/** The certificate that is served now. A certificate source sets it, and servers subscribe to it. */
export class CertificateHolder {
  #current: KeyPair | undefined;
  readonly #listeners = new Set<(pair: KeyPair) => void>();

  get current(): KeyPair | undefined {
    return this.#current;
  }

  /** Returns whether it is another one than before. */
  set(pair: KeyPair): boolean {
    if (this.#current?.cert === pair.cert && this.#current.key === pair.key) return false;
    this.#current = pair;
    for (const listener of this.#listeners) listener(pair);
    return true;
  }

  /** Calls `listener` at every change until the returned function is called. */
  onChange(listener: (pair: KeyPair) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}

/** The only version that is spoken. Agents and kube-scheduler speak it, and it has no renegotiation. */
export const TLS_VERSION = 'TLSv1.3';

/**
 * Lets `server` present the current certificate, now and after every change. Connections that are open stay as they
 * are. While there is none yet, handshakes fail and clients come back. `clientCas` (PEM) go with every change: without
 * them, clients would be verified against the CAs of the machine.
 */
export function serveCurrentCertificate(
  server: Server,
  certificates: CertificateHolder,
  clientCas?: readonly string[],
): void {
  const trusted = clientCas ? { ca: [...clientCas] } : {};
  const present = ({ cert, key }: KeyPair) =>
    server.setSecureContext({ cert, key, minVersion: TLS_VERSION, ...trusted });
  if (certificates.current) present(certificates.current);
  server.once('close', certificates.onChange(present));
}
