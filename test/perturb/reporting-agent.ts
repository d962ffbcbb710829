import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { registerAgentMetrics } from '@rollcall/agent/metrics.ts';
import { CoordinatorClient } from '@rollcall/agent/report/coordinator-client.ts';
import { digestContent } from '@rollcall/agent/report/report-builder.ts';
import { ReportSender } from '@rollcall/agent/report/report-sender.ts';
import { Reporter } from '@rollcall/agent/report/reporter.ts';
import { systemClock as clock } from '@rollcall/common/clock.ts';
import { silentLogger } from '@rollcall/common/logging.ts';
import { createRegistry } from '@rollcall/common/metrics.ts';

const SINCE = new Date(0).toISOString();

export type ReportingAgentOptions = {
  node: string;
  token: string;
  urls: readonly string[];
  /** Where its token file is kept, and the CA. */
  dir: string;
};

/** The half of an agent that reports, as it ships; what its probes say is set by the test. */
export class ReportingAgent {
  readonly #reporter: Reporter;
  readonly #stop = new AbortController();
  readonly #client: CoordinatorClient;
  readonly #down = new Set<string>();
  /** Digests of the assigned probes, by name. */
  #services: ReadonlyMap<string, string> = new Map();

  private constructor({ node, urls, dir }: ReportingAgentOptions, tokenFile: string) {
    const metrics = registerAgentMetrics(createRegistry('rollcall_agent')).report;
    const logger = silentLogger();
    const serverName = 'rollcall-coordinator.rollcall.svc';
    this.#client = new CoordinatorClient({
      caFile: join(dir, 'ca.crt'),
      serverName,
      tokenFile,
      clock,
      logger,
      metrics,
    });
    this.#reporter = new Reporter({
      sender: new ReportSender({
        node,
        newBoot: randomUUID,
        servicesDigest: () => undefined,
        urls,
        client: this.#client,
        clock,
      }),
      heartbeatSeconds: 1,
      content: () =>
        digestContent({
          services: [...this.#services].map((each) => this.#reportOn(...each)),
          devices: [],
          facts: {},
        }),
      onReply: ({ services = [] }) => {
        const assigned = new Map(services.map(({ name, digest = '' }) => [name, digest]));
        if ([...assigned].join() === [...this.#services].join()) return;
        this.#services = assigned;
        this.#reporter.changed();
      },
      onRound: () => {},
      clock,
      random: Math.random,
      logger,
      metrics,
      signal: this.#stop.signal,
    });
    this.#reporter.start();
  }

  static async start(options: ReportingAgentOptions): Promise<ReportingAgent> {
    const tokenFile = join(options.dir, `${options.node}.token`);
    await writeFile(tokenFile, options.token);
    return new ReportingAgent(options, tokenFile);
  }

  /** What its probes of a service say from now on. */
  see(service: string, ready: boolean): void {
    if (ready) this.#down.delete(service);
    else this.#down.add(service);
    this.#reporter.changed();
  }

  /** Ends without a word. */
  stop(): void {
    this.#stop.abort();
    this.#client.close();
  }

  #reportOn(name: string, digest: string) {
    const [service = ''] = name.split('/');
    const ready = !this.#down.has(service);
    return { name, ready, since: SINCE, digest, evidence: ready ? 'The service answered' : 'Connection refused' };
  }
}
