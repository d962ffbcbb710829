import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { connect, type NetConnectOpts } from 'node:net';
import { join } from 'node:path';
import { createAgent } from '@rollcall/agent/agent.ts';
import { registerAgentMetrics } from '@rollcall/agent/metrics.ts';
import { CoordinatorClient } from '@rollcall/agent/report/coordinator-client.ts';
import { systemClock as clock } from '@rollcall/common/clock.ts';
import { HealthChecks } from '@rollcall/common/health.ts';
import { silentLogger } from '@rollcall/common/logging.ts';
import { Registry } from '@rollcall/common/metrics.ts';

const LOGGER = silentLogger();
/** The machine itself, as that of an agent that sees neither a bus nor a fact. */
const MACHINE = {
  observe: () => ({ devices: [], unread: [], facts: {}, answers: {}, values: {} }),
  ask: () => {},
  start: () => {},
};

export type RunningAgentOptions = {
  node: string;
  hostIp: string;
  /** Of the coordinator. */
  url: string;
  token: string;
  /** Where its token file is kept. */
  dir: string;
  /** It connects to a service at this host. */
  onConnect: (host: string) => void;
};

/** An agent as it ships, but for its machine and its process: it probes and reports over real sockets. */
export class RunningAgent {
  readonly #stop = new AbortController();
  readonly #client: CoordinatorClient;
  readonly #agent: ReturnType<typeof createAgent>;

  private constructor({ node, hostIp, url, onConnect }: RunningAgentOptions, tokenFile: string) {
    const metrics = registerAgentMetrics(new Registry());
    this.#client = new CoordinatorClient({
      caFile: '',
      serverName: '',
      tokenFile,
      clock,
      logger: LOGGER,
      metrics: metrics.report,
    });
    this.#agent = createAgent({
      config: {
        nodeName: node,
        hostIp,
        coordinatorUrl: [url],
        heartbeatSeconds: 10,
        watchedServices: [],
        probePaths: [],
      },
      boot: randomUUID(),
      clock,
      random: Math.random,
      logger: LOGGER,
      metrics,
      health: new HealthChecks(),
      readiness: new HealthChecks(),
      signal: this.#stop.signal,
      client: this.#client,
      machine: () => MACHINE,
      connect: (options: NetConnectOpts) => {
        onConnect('host' in options ? String(options.host) : '');
        return connect(options);
      },
    });
    this.#agent.start(Number.NaN);
  }

  static async start(options: RunningAgentOptions): Promise<RunningAgent> {
    const tokenFile = join(options.dir, `${options.node}.token`);
    await writeFile(tokenFile, options.token);
    return new RunningAgent(options, tokenFile);
  }

  /** As on SIGTERM: it says goodbye. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#agent.stop();
    this.#client.close();
  }
}
