import { Gauge, type Registry } from '@rollcall/common/metrics.ts';

export class CertificateMetrics {
  readonly #expiry: Gauge<'certificate'>;

  constructor(registry: Registry) {
    this.#expiry = new Gauge({
      name: 'rollcall_coordinator_certificate_expiry_timestamp_seconds',
      help: 'Time at which the serving certificate (leaf) and the CA of the coordinator (ca) expire, in seconds since the epoch.',
      labelNames: ['certificate'],
      registers: [registry],
    });
  }

  /** `expiresAtMs` in milliseconds since the epoch. */
  set(certificate: 'leaf' | 'ca', expiresAtMs: number): void {
    this.#expiry.set({ certificate }, Math.floor(expiresAtMs / 1000));
  }
}
