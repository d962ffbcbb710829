import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { CodedError, describeError } from './coded-error.ts';
import type { Logger } from './logging.ts';

const CERTIFICATE = /-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----/gs;

/**
 * Certificate authorities in a file. It is looked at each time they are needed, since CAs are exchanged at run time; a
 * file that becomes unusable later does not take away what was known.
 */
export class CaFile {
  readonly #path: string;
  readonly #logger: Logger;
  readonly #bytesMax: number;
  #text: string | undefined;
  #certificates: string | undefined;
  #problem: string | undefined;

  constructor(path: string, logger: Logger, bytesMax = Number.POSITIVE_INFINITY) {
    this.#path = path;
    this.#logger = logger;
    this.#bytesMax = bytesMax;
  }

  /** PEM text of one certificate or several. Throws CERTIFICATE_INVALID while there never was any. */
  current(): string {
    try {
      this.#refresh();
    } catch (cause) {
      const err = new CodedError('CERTIFICATE_INVALID', `Cannot use the CA file ${this.#path}`, {
        cause,
        fields: { path: this.#path },
      });
      if (this.#certificates === undefined) throw err;
      this.#warnOnce(err);
    }
    return this.#certificates ?? '';
  }

  #refresh(): void {
    const text = readFileSync(this.#path, 'utf8');
    if (text !== this.#text) {
      const certificates = readCertificates(text);
      const joined = certificates.join('\n');
      if (joined.length > this.#bytesMax) throw new Error(`its certificates have more than ${this.#bytesMax} bytes`);
      const known = this.#certificates;
      this.#certificates = joined;
      this.#text = text;
      if (known !== undefined) {
        this.#logger.info({ path: this.#path, certificates: certificates.length }, 'Reloaded CA certificates');
      }
    }
    this.#problem = undefined;
  }

  #warnOnce(err: CodedError): void {
    const problem = describeError(err);
    if (problem === this.#problem) return;
    this.#problem = problem;
    this.#logger.warn({ err, path: this.#path }, 'Kept the CA certificates that were known before');
  }
}

/**
 * Splits a bundle and tries each certificate. An empty bundle must not pass: to TLS it would mean the authorities that
 * Node.js brings along.
 */
function readCertificates(text: string): string[] {
  const certificates = text.match(CERTIFICATE) ?? [];
  if (certificates.length === 0) throw new Error('it contains no certificate');
  for (const pem of certificates) new X509Certificate(pem);
  return certificates;
}
