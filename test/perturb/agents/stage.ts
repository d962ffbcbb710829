import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { DEFAULT_SERVICE_PREFIXES } from '../../../deploy/source/manifests/settings.ts';
import { applyManifest } from '../../control-plane/cluster.ts';
import { freePort, loopbackNetwork } from '../../control-plane/ports.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { watchNodes } from '../../control-plane/watch.ts';
import { type EmbeddedCluster, embeddedCluster } from '../../rig/cluster.ts';
import { Coordinator, coordinatorPorts } from '../../rig/coordinator.ts';
import { KeyHistory } from '../key-history.ts';
import { ALPHA, NODE_SERVICES } from '../objects.ts';
import type { NodeView } from '../picture.ts';
import { opened, type Stops, stopAll } from '../stops.ts';
import { ReportLine } from './report-line.ts';

const CRD = resolve(import.meta.dirname, '../../../deploy/crds/nodeservices.yaml');

/** A cluster with a coordinator that means well, and the line on which agents speak to it. */
export class Stage {
  readonly cluster: EmbeddedCluster;
  readonly line: ReportLine;
  readonly histories: KeyHistory;
  /** Nodes from the watch, by name. */
  readonly nodes = new Map<string, NodeView>();
  /** The port of the service of each node, at an address of its own. */
  readonly servicePort: number;
  /** A port on which no process listens. */
  readonly closedPort: number;
  readonly #network: string;
  readonly #stops: Stops;
  #addresses = 0;

  private constructor(parts: Parts, stops: Stops) {
    this.cluster = parts.cluster;
    this.line = parts.line;
    this.servicePort = parts.servicePort;
    this.closedPort = parts.closedPort;
    this.#network = parts.network;
    this.#stops = stops;
    const { api } = parts.cluster;
    this.histories = new KeyHistory(api);
    stops.push(() => this.histories.stop());
    stops.push(
      watchNodes(api, ({ object }) => {
        this.nodes.set(object.metadata.name, object as NodeView);
      }),
    );
  }

  static open(): Promise<Stage> {
    return opened((stops) => open(stops, (parts) => new Stage(parts, stops)));
  }

  /** Returns a loopback address that is not in use. */
  nextAddress(): string {
    this.#addresses += 1;
    return `${this.#network}.${this.#addresses}`;
  }

  stop(): Promise<void> {
    return stopAll(this.#stops);
  }
}

type Parts = Pick<Stage, 'cluster' | 'line' | 'servicePort' | 'closedPort'> & { network: string };

async function open(stops: Stops, make: (parts: Parts) => Stage): Promise<Stage> {
  const cluster = await embeddedCluster();
  stops.push(() => cluster.stop());
  const { api, controlPlane, coordinatorKubeconfig } = cluster;
  await applyManifest(controlPlane, await readFile(CRD, 'utf8'));
  await waitFor('NodeServices to be served', () => api.list(NODE_SERVICES), { timeoutMs: 60_000 });
  const servicePort = await freePort();
  const { checks, ...spec } = ALPHA['spec'] as { checks: { name: string }[] };
  const port = { name: 'port', tcp: { port: servicePort } };
  const changed = checks.map((check) => (check.name === port.name ? port : check));
  await api.post(NODE_SERVICES, { ...ALPHA, spec: { ...spec, checks: changed } });
  const ports = await coordinatorPorts();
  const coordinator = new Coordinator({
    ports,
    kubeconfig: coordinatorKubeconfig,
    name: 'coordinator-1',
    args: ['--gitpod=false', '--tls=off', `--services-allowed-prefixes=${DEFAULT_SERVICE_PREFIXES}`],
  });
  stops.push(() => coordinator.destroy());
  await coordinator.ready();
  await waitFor('a leader', () => coordinator.leads(), { timeoutMs: 30_000 });
  const line = new ReportLine(`http://127.0.0.1:${ports.reports}`);
  stops.push(() => line.stop());
  await line.start();
  return make({ cluster, line, servicePort, closedPort: await freePort(), network: await loopbackNetwork() });
}
