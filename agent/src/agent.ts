import { hash } from 'node:crypto';
import { networkInterfaces } from 'node:os';
import type { Clock } from '@rollcall/common/clock.ts';
import { type HealthChecks, latched, Watchdog } from '@rollcall/common/health.ts';
import type { Logger } from '@rollcall/common/logging.ts';
import type { ProbeTarget } from '@rollcall/common/report.ts';
import { VERSION } from '@rollcall/common/version.ts';
import type { MachineCollectors } from './collectors.ts';
import type { AgentConfig } from './config.ts';
import type { AgentMetrics } from './metrics.ts';
import { PathTurns } from './path-turns.ts';
import { countSilentBytes } from './probes/kept-socket.ts';
import { ProbePaths } from './probes/probe-paths.ts';
import { type ServiceListOptions, watchedServices } from './probes/service-list.ts';
import { TlsContexts } from './probes/tls-contexts.ts';
import type { ProbeTools, Timing } from './probes/types.ts';
import type { CoordinatorClient } from './report/coordinator-client.ts';
import type { Reply } from './report/reply.ts';
import { ContentBuilder } from './report/report-builder.ts';
import { ReportSender } from './report/report-sender.ts';
import { Reporter } from './report/reporter.ts';
import { ServicesWatch } from './services-watch.ts';

type AssignmentOptions = {
  services: Pick<ServicesWatch, 'watch'>;
  /** Applies where the coordinator sends no other. */
  timing: Timing;
  hostIp: string;
  /** The port on which the agent itself listens; NaN if it does not. */
  ownPort: number;
  /** The Service of the API server, as pods of the node find it. */
  apiServer?: ProbeTarget | undefined;
  clock: Clock;
  paths: ProbePaths;
  connect?: ProbeTools['connect'];
  openLine?: ServiceListOptions['openLine'];
};

/** What this agent probes: nothing at first, then the last list of the coordinator. */
export class Assignment {
  readonly #options: AssignmentOptions;
  readonly #tlsContexts = new TlsContexts();
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
      const { hostIp, ownPort, apiServer, services: watch, ...options } = this.#options;
      const ownAddresses = Object.values(networkInterfaces()).flatMap((all = []) => all.map(({ address }) => address));
      const place = { hostIp, ownAddresses, ownPort, apiServer };
      watch.watch(watchedServices(services, { ...options, place, tlsContexts: this.#tlsContexts }));
    }
    this.#last = last;
    this.#digest = servicesDigest;
  }
}

/** The reporter comes round every 15 s, or after a delivery of at most 5 s. */
const REPORTER_STALLED_MS = 30_000;

export type AgentOptions = {
  config: Pick<
    AgentConfig,
    | 'nodeName'
    | 'hostIp'
    | 'apiServer'
    | 'coordinatorUrl'
    | 'heartbeatSeconds'
    | 'probePaths'
    | 'probePeriodMs'
    | 'probeIdlePeriodMs'
    | 'probeTimeoutMs'
    | 'failureThreshold'
    | 'successThreshold'
  >;
  /** An id for each session of reports, such as no other session has. */
  newBoot: () => string;
  clock: Clock;
  /** A number in [0, 1). */
  random: () => number;
  logger: Logger;
  metrics: Pick<AgentMetrics, 'probes' | 'report'>;
  health: HealthChecks;
  readiness: HealthChecks;
  signal: AbortSignal;
  /** Carries reports. */
  client: Pick<CoordinatorClient, 'deliver'>;
  /** Observes the machine, and probes paths by `turns`; calls `onChange` when there is something new to report. */
  machine: (onChange: () => void, turns: PathTurns) => Pick<MachineCollectors, 'observe' | 'ask' | 'start'>;
  /** Connects to services; defaults to `node:net`. */
  connect?: ProbeTools['connect'];
  /** Takes the place of probes that need more. */
  openLine?: ServiceListOptions['openLine'];
};

export type Agent = {
  /** `ownPort`: where this process listens itself; NaN where it does not. */
  start: (ownPort: number) => void;
  /** Says goodbye. To be called after the signal has aborted. */
  stop: () => Promise<void>;
};

/** From what is seen on a node to what is reported of it, and from the replies to what is looked at. */
export function createAgent(options: AgentOptions): Agent {
  const { config, newBoot, clock, random, logger, metrics, health, readiness, signal, client, connect, openLine } =
    options;
  const onChange = () => reporter.changed();
  const services = new ServicesWatch({ clock, logger, metrics: metrics.probes, health, signal, onChange });
  // Latched, so that an outage of the coordinator, or a service that comes later, never looks like a restart.
  readiness.add(
    'first-probe-round',
    latched(() => {
      if (!services.hasList) return 'no coordinator has sent the list of services yet';
      const unseen = services.unseen();
      return unseen.length === 0 ? undefined : `not yet probed: ${unseen.join(', ')}`;
    }),
  );
  readiness.add('first-report', () => (sender.introduced ? undefined : 'no coordinator has accepted a report yet'));
  const turns = new PathTurns();
  const machine = options.machine(onChange, turns);
  const content = new ContentBuilder(VERSION);
  const watchdog = new Watchdog({ clock, limitMs: REPORTER_STALLED_MS });
  health.add('reporter', watchdog.check);
  const sender = new ReportSender({
    node: config.nodeName,
    newBoot,
    servicesDigest: () => assignment?.digest,
    urls: config.coordinatorUrl,
    client,
    clock,
  });
  const reporter = new Reporter({
    sender,
    heartbeatSeconds: config.heartbeatSeconds,
    content: () => content.build({ services: services.states(), ...machine.observe() }),
    onReply: (reply) => {
      assignment?.take(reply);
      machine.ask(reply.questions ?? []);
    },
    onRound: () => {
      watchdog.beat();
      countSilentBytes();
    },
    clock,
    random,
    logger,
    metrics: metrics.report,
    signal,
  });
  let assignment: Assignment | undefined;
  return {
    start(ownPort) {
      assignment = new Assignment({
        services,
        timing: {
          periodMs: config.probePeriodMs,
          idlePeriodMs: config.probeIdlePeriodMs,
          timeoutMs: config.probeTimeoutMs,
          failureThreshold: config.failureThreshold,
          successThreshold: config.successThreshold,
        },
        hostIp: config.hostIp,
        ownPort,
        apiServer: config.apiServer,
        clock,
        paths: new ProbePaths(config.probePaths, turns),
        connect,
        openLine,
      });
      machine.start();
      reporter.start();
    },
    stop: () => reporter.stop(),
  };
}
