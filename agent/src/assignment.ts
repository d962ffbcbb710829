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
  /** What the coordinator told last; its replies mostly repeat it. */
  #last: string | undefined;

  constructor(options: AssignmentOptions) {
    this.#options = options;
  }

  start(): void {
    this.#watch(this.#own(), false);
  }

  /** Takes over what a reply says. One that says nothing changes nothing, once another has said something. */
  take({ services, targets }: Pick<Reply, 'services' | 'targets'>): void {
    const told = services ?? (targets || this.#last === undefined ? this.#own(targets) : undefined);
    const text = told && JSON.stringify(told);
    if (!told || text === this.#last) return;
    this.#last = text;
    this.#watch(told, true);
  }

  /** The services of the agent's own configuration, at the addresses that an older coordinator names for them. */
  #own(targets?: Reply['targets']): ToldService[] {
    return this.#options.settings.map(({ name }) => {
      const target = targets?.get(name);
      return target ? { name, target, podAddresses: [target.host] } : { name };
    });
  }

  #watch(told: readonly ToldService[], isTold: boolean): void {
    const { services, settings, hostIp, ownPort, clock, caFrom, paths, connect } = this.#options;
    const ownAddresses = Object.values(networkInterfaces()).flatMap((all = []) => all.map(({ address }) => address));
    const place = { hostIp, ownAddresses, ownPort };
    services.watch(watchedServices(told, { settings, place, clock, caFrom, paths, connect }), isTold);
  }
}
