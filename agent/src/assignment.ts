import { hash } from 'node:crypto';
import { networkInterfaces } from 'node:os';
import type { Clock } from '@rollcall/common/clock.ts';
import type { ProbePaths } from './probes/probe-paths.ts';
import { watchedServices } from './probes/service-list.ts';
import type { ProbeTools, Timing } from './probes/types.ts';
import type { Reply } from './report/reply.ts';
import type { ServicesWatch } from './services-watch.ts';

export type AssignmentOptions = {
  services: Pick<ServicesWatch, 'watch'>;
  /** Applies where the coordinator sends no other. */
  timing: Timing;
  hostIp: string;
  /** Where the agent itself listens; NaN where it does not. */
  ownPort: number;
  clock: Clock;
  paths: ProbePaths;
  connect?: ProbeTools['connect'];
};

/** What this agent probes: nothing at first, then the last list of the coordinator. */
export class Assignment {
  readonly #options: AssignmentOptions;
  /** SHA-256 of the last list. */
  #last: string | undefined;
  #digest: string | undefined;

  constructor(options: AssignmentOptions) {
    this.#options = options;
  }

  /** The coordinator's digest of the list that is watched; `undefined` before its first. */
  get digest(): string | undefined {
    return this.#digest;
  }

  /** Takes over the list of a reply. A reply without one changes nothing. */
  take({ services, servicesDigest }: Pick<Reply, 'services' | 'servicesDigest'>): void {
    if (!services) return;
    const last = hash('sha256', JSON.stringify(services));
    if (last !== this.#last) {
      const { hostIp, ownPort, services: watch, ...options } = this.#options;
      const ownAddresses = Object.values(networkInterfaces()).flatMap((all = []) => all.map(({ address }) => address));
      watch.watch(watchedServices(services, { ...options, place: { hostIp, ownAddresses, ownPort } }));
    }
    this.#last = last;
    this.#digest = servicesDigest;
  }
}
