import { registerAgentMetrics } from '@rollcall/agent/metrics.ts';
import { CoordinatorClient } from '@rollcall/agent/report/coordinator-client.ts';
import type { HttpAnswer, HttpPost } from '@rollcall/agent/report/http-post.ts';
import { silentLogger } from '@rollcall/common/logging.ts';
import { Registry } from '@rollcall/common/metrics.ts';
import type { DeviceReport } from '@rollcall/common/report.ts';
import type { FakeClock } from '@rollcall/common/testing/fake-clock.ts';
import { FakeProcess } from '@rollcall/common/testing/fake-process.ts';
import { startInProcessAgent } from '../rig/in-process-agent.ts';
import { openLineFor } from './probes.ts';
import type { NodeSockets } from './sockets.ts';

const LOGGER = silentLogger();
/** Shared by all agents, since no test reads them. */
const METRICS = registerAgentMetrics(new Registry());

export type SimAgentOptions = {
  node: string;
  address: string;
  podUid: string;
  newBoot: () => string;
  urls: string[];
  world: FakeClock;
  random: () => number;
  sockets: NodeSockets;
  devices: () => DeviceReport[];
  token: () => string;
  post: (request: HttpPost, from: FakeProcess) => Promise<HttpAnswer>;
};

/** One agent process: what it does with what it sees is real, and so is what it holds to services but for the sockets. */
export class SimAgent {
  readonly podUid: string;
  readonly process: FakeProcess;
  readonly #sockets: NodeSockets;
  readonly #stop = new AbortController();
  readonly #agent: ReturnType<typeof startInProcessAgent>;
  #onDevices = () => {};

  constructor({ node, address, podUid, newBoot, urls, world, random, sockets, devices, token, post }: SimAgentOptions) {
    this.podUid = podUid;
    this.#sockets = sockets;
    this.process = new FakeProcess({ world, random });
    const { clock } = this.process;
    const { signal } = this.#stop;
    const client = new CoordinatorClient({
      caFile: '',
      serverName: '',
      tokenFile: '',
      clock,
      logger: LOGGER,
      metrics: METRICS.report,
      token,
      post: (request) => post(request, this.process),
    });
    this.#agent = startInProcessAgent({
      node,
      hostIp: address,
      urls,
      newBoot,
      clock,
      random,
      metrics: METRICS,
      signal,
      client,
      connect: sockets.connectFor(this.process),
      openLine: openLineFor(this.process, sockets),
      machine: (onChange) => {
        this.#onDevices = onChange;
        const observe = () => ({ devices: devices(), unread: [], facts: {}, answers: {}, values: {} });
        return { observe, ask: () => {}, start: () => {} };
      },
    });
  }

  /** A device came, or went. */
  devicesChanged(): void {
    this.process.step(() => this.#onDevices());
  }

  /** SIGKILL. */
  kill(): void {
    this.process.kill();
    this.#sockets.forget(this.process);
  }

  /** SIGTERM: it says goodbye, and ends. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#agent.stop();
    this.kill();
  }
}
