import type { ChildProcess } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { dashboardQueries } from '../../deploy/source/monitoring/dashboard.ts';
import { scrapeConfig } from '../../deploy/source/monitoring/scrape-config.ts';
import { killChild, lastLines, removeDirOnExit, spawnChild } from '../control-plane/child.ts';
import { freePort } from '../control-plane/ports.ts';
import { waitFor } from '../control-plane/wait-for.ts';
import { httpGet } from '../rig/http-get.ts';

const MONITORING = resolve(import.meta.dirname, '../../deploy/monitoring');

/** A port of a pod, as the discovery of Kubernetes would find it. */
export type DiscoveredPort = {
  address: string;
  port: string;
  /** The label app.kubernetes.io/name of its pod. */
  app: string;
  pod: string;
  node: string;
};

/** One series of an instant query. */
export type Sample = { metric: Record<string, string>; value: [number, string] };

export type Rule = { name: string; state: string; health: string; lastError?: string };

/** Panels that list what is wrong, and so are empty where nothing is. */
export const PANELS_OF_FAULTS: readonly string[] = [
  'Services not ready now',
  'Probes that fail now',
  'Agents that cannot report now',
];

/** A Prometheus of its own on a loopback port, which scrapes and evaluates every second. */
export class Prometheus {
  readonly #url: string;
  readonly #dir: string;
  readonly #child: ChildProcess;

  private constructor(url: string, dir: string, child: ChildProcess) {
    this.#url = url;
    this.#dir = dir;
    this.#child = child;
  }

  static async start(command: string, ports: readonly DiscoveredPort[]): Promise<Prometheus> {
    const dir = await mkdtemp(join(tmpdir(), 'rollcall-prometheus-'));
    removeDirOnExit(dir);
    const config = join(dir, 'prometheus.json');
    // JSON is YAML, too.
    await writeFile(config, JSON.stringify(configuration(ports)));
    const port = await freePort();
    const args = [
      `--config.file=${config}`,
      `--storage.tsdb.path=${join(dir, 'data')}`,
      `--web.listen-address=127.0.0.1:${port}`,
      '--log.level=warn',
    ];
    const logFile = join(dir, 'log');
    const child = spawnChild(command, { args, cwd: dir, logFile });
    const url = `http://127.0.0.1:${port}`;
    const prometheus = new Prometheus(url, dir, child);
    const isReady = async () => (await httpGet(`${url}/-/ready`)).status === 200;
    try {
      await waitFor('Prometheus to be ready', isReady, { timeoutMs: 30_000, everyMs: 100 });
    } catch (error) {
      const said = await lastLines(logFile);
      await prometheus.stop();
      throw new Error(`Prometheus did not start:\n${said}`, { cause: error });
    }
    return prometheus;
  }

  async query(expr: string): Promise<Sample[]> {
    const { result } = await this.#get<{ result: Sample[] }>(`query?query=${encodeURIComponent(expr)}`);
    return result;
  }

  /** Addresses that are scraped; only those whose last scrape went so, where told. */
  async targets(went?: 'up' | 'down'): Promise<string[]> {
    type Active = { health: string; labels: { instance: string } };
    const { activeTargets } = await this.#get<{ activeTargets: Active[] }>('targets?state=active');
    return activeTargets.filter(({ health }) => !went || health === went).map(({ labels }) => labels.instance);
  }

  async rules(): Promise<Rule[]> {
    const { groups } = await this.#get<{ groups: { rules: Rule[] }[] }>('rules');
    return groups.flatMap(({ rules }) => rules);
  }

  /** Every rule, once all are evaluated; what cannot be has another health than `ok`. */
  evaluatedRules(): Promise<Rule[]> {
    const evaluated = async () => {
      const rules = await this.rules();
      return rules.length > 0 && rules.every(({ health }) => health !== 'unknown') ? rules : undefined;
    };
    return waitFor('the rules to be evaluated', evaluated, { everyMs: 200 });
  }

  /** The dashboard's queries to which there is no answer now. */
  async unanswered(): Promise<{ panel: string; expr: string }[]> {
    const found = await Promise.all(
      dashboardQueries().map(async ({ panel, expr }) => {
        const filled = expr.replaceAll(/\$(cluster|namespace)\b/g, '.*').replaceAll('$__rate_interval', '2m');
        const samples = await this.query(filled);
        return samples.some(({ value }) => value[1] !== 'NaN') ? [] : [{ panel, expr: filled }];
      }),
    );
    return found.flat();
  }

  async stop(): Promise<void> {
    await killChild(this.#child);
    await rm(this.#dir, { recursive: true, force: true });
  }

  async #get<T>(path: string): Promise<T> {
    const { status, body } = await httpGet(`${this.#url}/api/v1/${path}`);
    if (status !== 200) throw new Error(`Prometheus answered ${status}: ${body}`);
    return (JSON.parse(body) as { data: T }).data;
  }
}

/** The configuration that is shipped, in a hurry, and with these ports: the Prometheus of Debian knows no Kubernetes. */
function configuration(ports: readonly DiscoveredPort[]): object {
  const namespace = 'rollcall';
  const { rule_files, scrape_configs } = scrapeConfig({ namespace });
  return {
    global: { scrape_interval: '1s', scrape_timeout: '1s', evaluation_interval: '1s' },
    rule_files: rule_files.map((file) => join(MONITORING, file)),
    scrape_configs: scrape_configs.map(({ kubernetes_sd_configs: _, ...job }) => ({
      ...job,
      static_configs: ports.map(({ address, port, app, pod, node }) => ({
        targets: [address],
        labels: {
          __meta_kubernetes_namespace: namespace,
          __meta_kubernetes_pod_label_app_kubernetes_io_name: app,
          __meta_kubernetes_pod_container_port_name: port,
          __meta_kubernetes_pod_name: pod,
          __meta_kubernetes_pod_node_name: node,
        },
      })),
    })),
  };
}
