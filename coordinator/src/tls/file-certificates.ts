import { hash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { type Clock, sleep } from '@rollcall/common/clock.ts';
import { CodedError, describeError } from '@rollcall/common/coded-error.ts';
import { configInvalid } from '@rollcall/common/config/load.ts';
import type { Logger } from '@rollcall/common/logging.ts';
import type { CertificateHolder, KeyPair } from './certificate-holder.ts';
import { pairProblem, parseCertificate } from './certificate-info.ts';
import type { CertificateMetrics } from './metrics.ts';

export type FileCertificatesOptions = {
  certFile: string;
  keyFile: string;
  /** Is given what the files hold. */
  certificates: CertificateHolder;
  clock: Clock;
  logger: Logger;
  metrics?: CertificateMetrics;
};

/** How often the files are looked at: a mounted Secret changes by a swap of links, which notifications often miss. */
const POLL_MS = 10_000;

/** Certificate and key are two files, and may be seen half replaced: a fault must last for so long. */
const SETTLE_MS = 1000;

/** `content` tells one state of the files from another. */
type Reading = { content: string } & ({ pair: KeyPair } | { fault: CodedError });

/** Serves a certificate that another program maintains, and keeps the last good one when the files are broken. */
export class FileCertificates {
  readonly #options: FileCertificatesOptions;
  /** The content whose fault was logged last, so that each is logged once. */
  #logged: string | undefined;

  constructor(options: FileCertificatesOptions) {
    this.#options = options;
  }

  /** Reads the files for the first time. Throws CONFIG_INVALID with one line that names the flag. */
  async load(): Promise<void> {
    const { keyFile } = this.#options;
    const reading = await this.#read();
    if ('pair' in reading) return this.#serve(reading.pair);
    const flag = reading.fault.fields['file'] === keyFile ? '--tls-key-file' : '--tls-cert-file';
    throw configInvalid(flag, reading.fault.message, reading.fault);
  }

  /** Watches for changes until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    while (!signal.aborted) {
      await sleep(clock, POLL_MS, signal);
      let reading = await this.#read();
      if ('fault' in reading && reading.content !== this.#logged) {
        await sleep(clock, SETTLE_MS, signal);
        reading = await this.#read();
      }
      if (signal.aborted) return;
      if ('pair' in reading) this.#serve(reading.pair);
      else this.#logOnce(reading.fault, reading.content);
    }
  }

  async #read(): Promise<Reading> {
    const { certFile, keyFile } = this.#options;
    const files = { cert: certFile, key: keyFile };
    const pair: KeyPair = { cert: '', key: '' };
    for (const part of ['cert', 'key'] as const) {
      try {
        pair[part] = await readFile(files[part], 'utf8');
      } catch (cause) {
        return { content: describeError(cause), fault: fault(files[part], 'could not be read', cause) };
      }
    }
    const content = hash('sha256', `${pair.cert}\0${pair.key}`);
    const problem = pairProblem(pair);
    return problem ? { content, fault: fault(files[problem.part], problem.problem) } : { content, pair };
  }

  #serve(pair: KeyPair): void {
    const { certificates, logger, metrics } = this.#options;
    this.#logged = undefined;
    const isFirst = certificates.current === undefined;
    if (!certificates.set(pair)) return;
    const { notAfterMs } = parseCertificate(pair.cert);
    metrics?.set('leaf', notAfterMs);
    const expires = new Date(notAfterMs).toISOString();
    if (!isFirst) logger.info({ expires }, 'Changed to a new certificate');
  }

  #logOnce(err: CodedError, content: string): void {
    if (content === this.#logged) return;
    this.#logged = content;
    this.#options.logger.error({ err }, 'Kept the last certificate, because the files are broken');
  }
}

function fault(file: string, problem: string, cause?: unknown): CodedError {
  return new CodedError('CERTIFICATE_INVALID', `${file} ${problem}`, { cause, fields: { file, problem } });
}
