import type { NodeDocument } from '@rollcall/common/console.ts';
import { sumSamples } from '../control-plane/metrics-text.ts';
import { freePort } from '../control-plane/ports.ts';
import { type WaitOptions, waitFor } from '../control-plane/wait-for.ts';
import { httpGet } from './http-get.ts';
import { type LogLine, Program } from './program.ts';

/** Where a coordinator listens. One that replaces another takes over its ports, as a Service would see to. */
export type CoordinatorPorts = { reports: number; listen: number; console: number };

/** Reserves ports for one coordinator. */
export async function coordinatorPorts(): Promise<CoordinatorPorts> {
  return { reports: await freePort(), listen: await freePort(), console: await freePort() };
}

export type CoordinatorOptions = {
  ports: CoordinatorPorts;
  /** Where it listens, as it stands before a port; defaults to `127.0.0.1`. */
  host?: string;
  kubeconfig: string;
  name: string;
  args?: readonly string[];
  root?: string | undefined;
  nodeArgs?: readonly string[];
  env?: Record<string, string>;
  logFile?: string | undefined;
  onLog?: (line: LogLine) => void;
};

/** A coordinator process. */
export class Coordinator extends Program {
  readonly name: string;
  readonly reportsUrl: string;
  readonly healthUrl: string;
  /** URL of the console: of its page and its API. */
  readonly consoleUrl: string;
  readonly ports: CoordinatorPorts;

  constructor(options: CoordinatorOptions) {
    const { ports, host = '127.0.0.1' } = options;
    super('coordinator', {
      args: [
        `--kubeconfig=${options.kubeconfig}`,
        `--reports-listen=${host}:${ports.reports}`,
        `--listen=${host}:${ports.listen}`,
        '--scheduler-listen=off',
        `--console-listen=${host}:${ports.console}`,
        ...(options.args ?? []),
      ],
      env: { POD_NAMESPACE: 'rollcall', POD_NAME: options.name, ...options.env },
      root: options.root,
      logFile: options.logFile,
      ...(options.nodeArgs ? { nodeArgs: options.nodeArgs } : {}),
      ...(options.onLog ? { onLog: options.onLog } : {}),
    });
    this.name = options.name;
    this.ports = ports;
    this.reportsUrl = `https://${host}:${ports.reports}`;
    this.healthUrl = `http://${host}:${ports.listen}`;
    this.consoleUrl = `http://${host}:${ports.console}/`;
  }

  get(path: string): Promise<{ status: number; body: string }> {
    return httpGet(`${this.healthUrl}${path}`);
  }

  /** A document of the console; `undefined` where there is none. */
  async console<T>(path: string): Promise<T | undefined> {
    const started = await this.waitForLog('Started');
    const { status, body } = await httpGet(`http://${started['console']}${path}`);
    return status === 200 ? (JSON.parse(body) as T) : undefined;
  }

  /** What the console says about a node. */
  async explain(node: string): Promise<NodeDocument> {
    const document = await this.console<NodeDocument>(`/v1/nodes/${node}`);
    if (!document) throw new Error(`The console of ${this.name} does not know ${node}`);
    return document;
  }

  /** Sum of a metric over the samples with these labels. */
  async metric(name: string, labels: Record<string, string> = {}): Promise<number> {
    return sumSamples((await this.get('/metrics')).body, name, labels);
  }

  async leads(): Promise<boolean> {
    return this.running && (await this.metric('rollcall_coordinator_leader').catch(() => 0)) === 1;
  }

  async ready(options: WaitOptions = { timeoutMs: 30_000 }): Promise<void> {
    await waitFor(`/readyz of ${this.name}`, async () => (await this.get('/readyz')).status === 200, options);
  }
}
