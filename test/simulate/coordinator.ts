import { Lifecycle } from '@rollcall/common/lifecycle.ts';
import { silentLogger } from '@rollcall/common/logging.ts';
import type { FakeClock } from '@rollcall/common/testing/fake-clock.ts';
import { startCoordinator } from '@rollcall/coordinator/app/coordinator.ts';
import { handlingOf } from '@rollcall/coordinator/app/listeners.ts';
import type { Replica } from '@rollcall/coordinator/app/replica.ts';
import type { ReplicaContext } from '@rollcall/coordinator/app/replica-context.ts';
import type { ReportHandler } from '@rollcall/coordinator/ingest/report-handler.ts';
import { createReportHandler } from '@rollcall/coordinator/ingest/reports.ts';
import type { KubeClient, KubeRequest } from '@rollcall/coordinator/kube/client.ts';
import { KubeStatusError } from '@rollcall/coordinator/kube/client.ts';
import type { KubeClientOptions } from '@rollcall/coordinator/kube/https-client.ts';
import type { LeaderRequests } from '@rollcall/coordinator/kube/leader-requests.ts';
import { type CoordinatorConfig, loadConfig } from '@rollcall/coordinator/model/config.ts';
import { Machine, type MemoryServer, type Network } from '@rollcall/coordinator/term/testing/machine.ts';

const LOGGER = silentLogger();
const ENVIRONMENT = { ownNamespace: 'rollcall', podIp: undefined };
export const POOL_LABEL = 'example.com/pool';

export type SimCoordinatorOptions = {
  /** Name of its pod; its host is derived from it. */
  name: string;
  host: string;
  /** Number of its process, which is new after each start. */
  serial: number;
  config: CoordinatorConfig;
  world: FakeClock;
  random: () => number;
  server: MemoryServer;
  network: Network;
  rate: number;
  afterStep: () => void;
  /** A request is sent; what is returned is called when its sender has an answer, or gives it up. */
  onSent: (request: KubeRequest) => (how: 'answered' | 'given up') => void;
};

/** The configuration of the chart, without listeners, and for NodeServices alone. */
export async function coordinatorConfig(): Promise<CoordinatorConfig> {
  const flags = ['--tls=off', '--reports-listen=127.0.0.1:8443', '--scheduler-listen=off', '--console-listen=off'];
  const services = ['--gitpod=false', '--services-conditions', `--pool-labels=${POOL_LABEL}`, '--hardware-labels=none'];
  const argv = [...flags, ...services, '--listen=off', '--local-token-verification=false'];
  const loaded = await loadConfig({ argv, env: {}, readFile: () => '' }, { ...ENVIRONMENT, podName: 'coordinator' });
  if (loaded.action === 'print') throw new Error(loaded.text);
  return loaded.values;
}

/** One coordinator process, whole but for its sockets, on a machine that can be stopped, killed and cut off. */
export class SimCoordinator {
  readonly name: string;
  readonly origin: string;
  /** What the Lease names it by. */
  readonly identity: string;
  readonly machine: Machine;
  readonly #life = new Lifecycle(LOGGER);
  #parts: { base: ReplicaContext; replica: Replica; handler: ReportHandler } | undefined;

  constructor(options: SimCoordinatorOptions) {
    const { name, host, serial, config, random } = options;
    this.name = name;
    this.origin = `http://${host}:8443`;
    this.identity = `${name}_${serial}`;
    this.machine = new Machine(options);
    const access = { server: '', viaProxy: false, options: () => Promise.reject(new Error('unused')), renew: () => {} };
    const { machine } = this;
    const dependencies = {
      clock: machine.clock,
      random,
      uniqueName: () => String(serial),
      connect: (given: KubeClientOptions) => counted(machine.client, { ...given, onSent: options.onSent }),
    };
    const setup = {
      config: { ...config, advertiseUrl: this.origin },
      environment: { ...ENVIRONMENT, podName: name },
      access,
    };
    const open = async (base: ReplicaContext, replica: Replica) => {
      this.#parts = { base, replica, handler: createReportHandler(handlingOf(base, replica)) };
      const address = { host, port: 8443 };
      const reports = { address, stop: async () => {} };
      const addresses = { listen: 'off', console: 'off', reports: address, scheduler: undefined };
      return { tls: undefined, reports, scheduler: undefined, console: undefined, beat: () => {}, addresses };
    };
    void startCoordinator(setup, LOGGER, this.#life, { dependencies, open });
  }

  /** `undefined` until it listens. */
  get handler(): ReportHandler | undefined {
    return this.#parts?.handler;
  }

  get replica(): Replica | undefined {
    return this.#parts?.replica;
  }

  /** What sends for the leader. */
  get requests(): LeaderRequests | undefined {
    return this.#parts?.base.requests;
  }

  /** Milliseconds for which it may go on writing; a machine that is suspended sends nothing, whatever its clock says. */
  get mayWriteMs(): number {
    return this.machine.isDead || this.machine.isSuspended
      ? 0
      : (this.#parts?.base.leadershipState.fence.remainingMs() ?? 0);
  }

  /** Whether it leads, knows enough to write, and runs. */
  get decides(): boolean {
    const leadershipState = this.#parts?.base.leadershipState;
    return (
      !this.machine.isDead && !this.machine.isPaused && leadershipState?.mayDecide() === true && leadershipState.leads()
    );
  }

  /** SIGTERM; then it ends. */
  async stop(): Promise<void> {
    await this.#life.stop();
    this.machine.kill();
  }
}

/** Reports each answer to `onAnswer`, as the client over HTTPS does. */
function counted(
  client: KubeClient,
  { onAnswer = () => {}, onSent }: KubeClientOptions & Pick<SimCoordinatorOptions, 'onSent'>,
): KubeClient {
  const codeOf = (err: unknown) => (err instanceof KubeStatusError ? String(err.status) : 'error');
  const tell = (verb: string, err: unknown): never => {
    onAnswer(verb, codeOf(err));
    throw err;
  };
  return {
    request: <T>(request: KubeRequest) => {
      const ended = onSent(request);
      return client.request<T>(request).then(
        (answer) => {
          ended('answered');
          onAnswer(request.method, '200');
          return answer;
        },
        (err) => {
          ended(err instanceof KubeStatusError ? 'answered' : 'given up');
          return tell(request.method, err);
        },
      );
    },
    stream: (request, onObject) => client.stream(request, onObject).catch((err) => tell('watch', err)),
    close: () => client.close(),
  };
}
