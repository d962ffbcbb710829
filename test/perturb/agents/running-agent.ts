import { randomUUID } from 'node:crypto';
import { connect, type NetConnectOpts } from 'node:net';
import { registerAgentMetrics } from '@rollcall/agent/metrics.ts';
import { CoordinatorClient } from '@rollcall/agent/report/coordinator-client.ts';
import { systemClock as clock } from '@rollcall/common/clock.ts';
import { silentLogger } from '@rollcall/common/logging.ts';
import { Registry } from '@rollcall/common/metrics.ts';
import { startInProcessAgent } from '../../rig/in-process-agent.ts';

export type RunningAgentOptions = {
  node: string;
  hostIp: string;
  /** URL of the coordinator. */
  url: string;
  token: string;
  /** It connects to a service at this host. */
  onConnect: (host: string) => void;
};

/** An agent as it ships, but for its machine and its process: it probes and reports over real sockets. */
export class RunningAgent {
  readonly #stop = new AbortController();
  readonly #client: CoordinatorClient;
  readonly #agent: ReturnType<typeof startInProcessAgent>;

  constructor({ node, hostIp, url, token, onConnect }: RunningAgentOptions) {
    const metrics = registerAgentMetrics(new Registry());
    this.#client = new CoordinatorClient({
      caFile: '',
      serverName: '',
      tokenFile: '',
      clock,
      logger: silentLogger(),
      metrics: metrics.report,
      token: () => token,
    });
    this.#agent = startInProcessAgent({
      node,
      hostIp,
      urls: [url],
      newBoot: randomUUID,
      clock,
      random: Math.random,
      metrics,
      signal: this.#stop.signal,
      client: this.#client,
      connect: (options: NetConnectOpts) => {
        onConnect('host' in options ? String(options.host) : '');
        return connect(options);
      },
    });
  }

  /** Stops the agent as SIGTERM does, with a goodbye. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#agent.stop();
    this.#client.close();
  }
}
