import { Gauge, type Registry } from '@rollcall/common/metrics.ts';

export class CertificateMetrics {
  readonly #expiry: Gauge<'certificate'>;

  constructor(registry: Registry) {
    this.#expiry = new Gauge({
      name: 'rollcall_coordinator_certificate_expiry_timestamp_seconds',
      help: 'When the certificate that is served (leaf), and the authority of its own that signs it (ca), expire.',
      labelNames: ['certificate'],
      registers: [registry],
    });
  }

  /** `expiresAtMs` in milliseconds since the epoch. */
  set(certificate: 'leaf' | 'ca', expiresAtMs: number): void {
    this.#expiry.set({ certificate }, Math.floor(expiresAtMs / 1000));
  }
}
