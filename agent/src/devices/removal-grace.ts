import type { DeviceReport } from '@rollcall/common/report.ts';

export type RemovalGraceOptions = {
  /** How long a device that vanished stays, in milliseconds. 0: not at all. */
  graceMs: number;
  /** Devices of one identity are one to those who use them, whatever ids they show. Without an identity there is no grace. */
  identityOf: (device: DeviceReport) => string | undefined;
};

type Known = { device: DeviceReport; identity: string };

/**
 * Accelerators leave the bus and come back with another id when they are first used, which takes seconds. So one that
 * vanished stays in the report for a while, until another of its identity has come in its place. On USB that is one that
 * has come since; elsewhere devices do not come back as others, and any of its identity will do, so that the loss of one
 * of many shows at once.
 */
export class RemovalGrace {
  readonly #options: RemovalGraceOptions;
  #seen: ReadonlyMap<string, Known> = new Map();
  readonly #held = new Map<string, Known & { untilMs: number }>();

  constructor(options: RemovalGraceOptions) {
    this.#options = options;
  }

  /** Devices to report, each under a key that is the same for the same device, given those that are there. */
  apply(present: ReadonlyMap<string, DeviceReport>, nowMs: number): Map<string, DeviceReport> {
    const seen = this.#known(present);
    for (const [key, known] of this.#seen) {
      if (!seen.has(key)) this.#held.set(key, { ...known, untilMs: nowMs + this.#options.graceMs });
    }
    for (const [key, known] of seen) if (!this.#seen.has(key)) this.#release(known);
    this.#seen = seen;
    const identities = new Set([...seen.values()].map(({ identity }) => identity));
    for (const [key, { device, identity, untilMs }] of this.#held) {
      const isReplaced = device.bus !== 'usb' && identities.has(identity);
      if (isReplaced || nowMs >= untilMs) this.#held.delete(key);
    }
    return new Map([...present, ...[...this.#held].map(([key, { device }]) => [key, device] as const)]);
  }

  /** When the next grace is over; `undefined` while there is none. */
  get untilMs(): number | undefined {
    const ends = [...this.#held.values()].map(({ untilMs }) => untilMs);
    return ends.length === 0 ? undefined : Math.min(...ends);
  }

  /** One has come: the one that it stands for is at the same place, or else has waited longest. */
  #release({ device, identity }: Known): void {
    const alike = [...this.#held].filter(([, held]) => held.identity === identity);
    const [key] = alike.find(([, held]) => held.device.address === device.address) ?? alike[0] ?? [];
    if (key !== undefined) this.#held.delete(key);
  }

  #known(present: ReadonlyMap<string, DeviceReport>): Map<string, Known> {
    const known = new Map<string, Known>();
    for (const [key, device] of present) {
      const identity = this.#options.identityOf(device);
      if (identity !== undefined) known.set(key, { device, identity });
    }
    return known;
  }
}
