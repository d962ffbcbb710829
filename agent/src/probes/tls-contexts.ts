import type { SecureContext } from 'node:tls';

/** Trust for connections of TLS. */
export type TlsTrust = {
  /** Whether certificates have to chain up to the bundle. */
  isVerified: boolean;
  /** Made when first used: certificates that are loaded take memory. */
  context(): SecureContext;
};

/**
 * Curves for the key exchange, and no primes: a peer chooses the prime, Node.js sets no upper limit for it, and with
 * 10,000 bits a handshake holds the process for a second. Go's TLS has no exchange with primes at all.
 */
const CURVES = 'X25519:P-256:P-384:P-521';
const WITHOUT_PRIMES = ':!kDHE';

/** One TLS context for each distinct CA bundle of the services that are watched. */
export class TlsContexts {
  #trusts = new Map<string, TlsTrust>();
  #before = this.#trusts;

  /** The trust in a bundle; `undefined`: certificates are not verified. A string says what is wrong with the bundle. */
  of(caBundle: string | undefined): TlsTrust | string {
    const key = caBundle ?? '';
    const trust = this.#trusts.get(key) ?? this.#before.get(key) ?? readTrust(caBundle);
    if (typeof trust !== 'string') this.#trusts.set(key, trust);
    return trust;
  }

  /** Runs `prepare`, which asks for every trust that is still used, and forgets the others. */
  renew<T>(prepare: () => T): T {
    this.#before = this.#trusts;
    this.#trusts = new Map();
    const result = prepare();
    this.#before = this.#trusts;
    return result;
  }
}

function readTrust(caBundle: string | undefined): TlsTrust | string {
  const ca = caBundle === undefined ? undefined : pemOf(caBundle);
  if (typeof ca === 'string') return ca;
  let context: SecureContext | undefined;
  return {
    isVerified: ca !== undefined,
    context() {
      // By getBuiltinModule, because the TLS and HTTP modules cost 7 MB of resident memory as soon as they are loaded.
      const { createSecureContext, DEFAULT_CIPHERS } = process.getBuiltinModule('node:tls');
      const { SSL_OP_NO_RENEGOTIATION } = process.getBuiltinModule('node:crypto').constants;
      context ??= createSecureContext({
        ca: ca ?? [],
        // What is in the bundle is trusted, be it a root or an intermediate CA, as Go programs have it.
        allowPartialTrustChain: true,
        ciphers: DEFAULT_CIPHERS + WITHOUT_PRIMES,
        ecdhCurve: CURVES,
        secureOptions: SSL_OP_NO_RENEGOTIATION,
      });
      return context;
    },
  };
}

/** PEM, from PEM or from that in base64. */
function pemOf(caBundle: string): Buffer | string {
  const pem = Buffer.from(caBundle, caBundle.includes('-----BEGIN') ? 'utf8' : 'base64');
  try {
    // What holds no certificate is an error here; to TLS it would be an empty list.
    new (process.getBuiltinModule('node:crypto').X509Certificate)(pem);
    return pem;
  } catch {
    return 'its caBundle contains no certificate';
  }
}
