import { hash } from 'node:crypto';
import { networkInterfaces } from 'node:os';
import type { Clock } from '@rollcall/common/clock.ts';
import type { CaProvider } from './probes/https-agent.ts';
import type { ProbePaths } from './probes/probe-paths.ts';
import { type ToldService, watchedServices } from './probes/service-list.ts';
import type { ServiceSettings } from './probes/service-settings.ts';
import type { ProbeTools } from './probes/types.ts';
import type { Reply } from './report/reply.ts';
import type { ServicesWatch } from './services-watch.ts';

export type AssignmentOptions = {
  services: Pick<ServicesWatch, 'watch'>;
  /** What the agent's own flags say. */
  settings: readonly ServiceSettings[];
  hostIp: string;
  /** Where the agent itself listens; NaN where it does not. */
  ownPort: number;
  clock: Clock;
  caFrom: (caFile: string, service: string) => CaProvider;
  paths: ProbePaths;
  connect?: ProbeTools['connect'];
};

/** What this agent is to probe: what its flags say at first, then what the coordinator told last. */
export class Assignment {
  readonly #options: AssignmentOptions;
  /** SHA-256 of the list that the coordinator sent last. */
  #last: string | undefined;
  #digest: string | undefined;

  constructor(options: AssignmentOptions) {
    this.#options = options;
  }

  start(): void {
    this.#watch(this.#own(), false);
  }

  /** The coordinator's digest of the list that is watched; `undefined` before its first. */
  get digest(): string | undefined {
    return this.#digest;
  }

  /**
   * Takes over the list of a reply. A reply without one changes nothing, but the first that counts, which says that the
   * flags are right.
   */
  take({ services, servicesDigest, newSession }: Pick<Reply, 'services' | 'servicesDigest' | 'newSession'>): void {
    const told = services ?? (this.#last === undefined && !newSession ? this.#own() : undefined);
    if (!told) return;
    const last = hash('sha256', JSON.stringify(told));
    if (last !== this.#last) this.#watch(told, true);
    this.#last = last;
    this.#digest = servicesDigest;
  }

  /** The services of the agent's own configuration. */
  #own(): ToldService[] {
    return this.#options.settings.map(({ name }) => ({ name }));
  }

  #watch(told: readonly ToldService[], isTold: boolean): void {
    const { services, settings, hostIp, ownPort, clock, caFrom, paths, connect } = this.#options;
    const ownAddresses = Object.values(networkInterfaces()).flatMap((all = []) => all.map(({ address }) => address));
    const place = { hostIp, ownAddresses, ownPort };
    services.watch(watchedServices(told, { settings, place, clock, caFrom, paths, connect }), isTold);
  }
}
