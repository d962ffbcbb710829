import { createPublicKey, type KeyObject, verify, type webcrypto } from 'node:crypto';
import type { Clock } from '@rollcall/common/clock.ts';
import type { Logger } from '@rollcall/common/logging.ts';
import { KubeStatusError } from '../kube/client.ts';
import type { TokenIssuer } from '../kube/token-review.ts';
import type { TokenClaims } from './token-claims.ts';

export type SigningKeysOptions = {
  /** Asks the API server; rejects when there was no answer, or none to us. */
  read: () => Promise<TokenIssuer>;
  clock: Clock;
  logger: Logger;
};

/** `unknown`: the known keys cannot tell, and the API server has to be asked. */
export type Signature = 'good' | 'bad' | 'unknown';

const REFRESH_MS = 300_000;
/** Between two questions, whatever key a token names. */
const PAUSE_MS = 10_000;

/** The algorithms that an API server signs with (RFC 7518), with the kind of key that each takes. */
const ALGORITHMS: Readonly<Record<string, { hash: string; key: string; curve?: string }>> = {
  RS256: { hash: 'sha256', key: 'rsa' },
  ES256: { hash: 'sha256', key: 'ec', curve: 'prime256v1' },
  ES384: { hash: 'sha384', key: 'ec', curve: 'secp384r1' },
  ES512: { hash: 'sha512', key: 'ec', curve: 'secp521r1' },
};

/** The keys by which the API server signs tokens of service accounts, kept up to date. */
export class SigningKeys {
  readonly #options: SigningKeysOptions;
  #issuer = '';
  #keys = new Map<string, KeyObject>();
  #readAtMs = Number.NEGATIVE_INFINITY;
  #triedAtMs = Number.NEGATIVE_INFINITY;
  #reading: Promise<void> | undefined;
  #isRefused = false;

  constructor(options: SigningKeysOptions) {
    this.#options = options;
  }

  /**
   * Whether the API server signed a token. A good signature with another issuer than the one that it names is
   * `unknown`: it may accept several.
   */
  async judge(token: string, { keyId, algorithm, issuer }: TokenClaims): Promise<Signature> {
    const key = keyId === undefined ? undefined : await this.#key(keyId);
    if (!key) return 'unknown';
    if (!isSigned(token, algorithm, key)) return 'bad';
    return issuer === this.#issuer ? 'good' : 'unknown';
  }

  /** Asks the API server, unless it was asked a moment ago. Never rejects. */
  refresh(): Promise<void> {
    const { clock } = this.#options;
    if (this.#reading) return this.#reading;
    if (clock.monotonic() - this.#triedAtMs < PAUSE_MS) return Promise.resolve();
    this.#triedAtMs = clock.monotonic();
    this.#reading = this.#read().finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  async #key(keyId: string): Promise<KeyObject | undefined> {
    // A key that was known for long may have been withdrawn since.
    const isOld = this.#options.clock.monotonic() - this.#readAtMs > REFRESH_MS;
    if (isOld || !this.#keys.has(keyId)) await this.refresh();
    return this.#keys.get(keyId);
  }

  async #read(): Promise<void> {
    const { read, clock, logger } = this.#options;
    try {
      const { issuer, keys } = await read();
      this.#issuer = issuer;
      this.#keys = new Map();
      for (const jwk of keys) {
        const key = keyOf(jwk);
        if (key && jwk.kid) this.#keys.set(jwk.kid, key);
      }
      this.#readAtMs = clock.monotonic();
      if (this.#isRefused) logger.info({ issuer }, 'Read the keys by which the API server signs tokens');
      this.#isRefused = false;
    } catch (err) {
      // One that is away has said nothing about its keys.
      const isRefused = err instanceof KubeStatusError && err.status < 500 && err.status !== 429;
      if (!isRefused) return;
      this.#keys = new Map();
      if (!this.#isRefused)
        logger.warn({ err }, 'Cannot read the keys of the API server; each token costs a TokenReview');
      this.#isRefused = true;
    }
  }
}

function keyOf(jwk: webcrypto.JsonWebKey): KeyObject | undefined {
  try {
    const key = createPublicKey({ key: jwk, format: 'jwk' });
    // Tokens with another kind of key are reviewed by the API server.
    return key.asymmetricKeyType === 'rsa' || key.asymmetricKeyType === 'ec' ? key : undefined;
  } catch {
    return undefined;
  }
}

function isSigned(token: string, name: string, key: KeyObject): boolean {
  const algorithm = Object.hasOwn(ALGORITHMS, name) ? ALGORITHMS[name] : undefined;
  if (algorithm?.key !== key.asymmetricKeyType) return false;
  if (algorithm?.curve !== key.asymmetricKeyDetails?.namedCurve) return false;
  const end = token.lastIndexOf('.');
  const signature = Buffer.from(token.slice(end + 1), 'base64url');
  return verify(algorithm?.hash, Buffer.from(token.slice(0, end)), { key, dsaEncoding: 'ieee-p1363' }, signature);
}
