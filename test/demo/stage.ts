import { hostname } from 'node:os';
import type { RigCluster } from '../rig/cluster.ts';
import type { Coordinator } from '../rig/coordinator.ts';
import type { LogLine } from '../rig/program.ts';
import { Rig } from '../rig/rig.ts';
import type { SimulatedNode } from '../rig/simulated-node.ts';
import type { StandInKind } from '../stand-ins/stand-in.ts';
import type { Row, Screen } from './screen.ts';

export const SERVICES: readonly StandInKind[] = ['ws-daemon', 'registry-facade'];

/** The cast of the demo, and what is known about it for people. */
export class Stage {
  readonly rig: Rig;
  readonly #screen: Screen;
  readonly #evidence = new Map<string, string>();
  /** The last action on a node and its time, to show how long the answer took. */
  readonly #deeds = new Map<string, number>();
  footer = '';
  /** Another coordinator leads. */
  onLeader: (leader: Coordinator) => void = () => {};

  private constructor(rig: Rig, screen: Screen) {
    this.rig = rig;
    this.#screen = screen;
    rig.history.onChange = ({ node, key, to, atMs }) => {
      const service = SERVICES.find((name) => rig.readyLabel(name) === key);
      if (!service) return;
      const since = this.#deeds.get(`${node}/${service}`);
      this.#deeds.delete(`${node}/${service}`);
      const after = since === undefined ? '' : `  (${Math.round(atMs - since)} ms later)`;
      screen.log(`${node}: label ${key} ${to === undefined ? 'gone' : `= ${to}`}${after}`);
      this.draw();
    };
  }

  static async set(options: {
    screen: Screen;
    cluster: RigCluster;
    prefix: string;
    namespace: string;
  }): Promise<Stage> {
    const { screen, cluster, prefix, namespace } = options;
    let stage: Stage | undefined;
    const rig = await Rig.start({
      nodes: 0,
      coordinators: 2,
      cluster,
      namespace,
      onCoordinatorLog: (coordinator, { msg }) => {
        if (msg !== 'Started leading') return;
        screen.log(`${coordinator}: leads`);
        const leader = stage?.rig.coordinators.find(({ name }) => name === coordinator);
        if (leader) stage?.onLeader(leader);
      },
    });
    const made = new Stage(rig, screen);
    stage = made;
    const machine = `${prefix}${hostname()
      .toLowerCase()
      .replaceAll(/[^a-z0-9-]/g, '-')}`;
    const names = [machine, ...[1, 2, 3, 4].map((number) => `${prefix}node-${number}`)];
    for (const name of names) {
      await rig.addNode({ name, onAgentLog: (line) => made.#heard(name, line) });
      screen.log(`${name}: agent started${name === machine ? ', for this very machine' : ''}`);
    }
    return made;
  }

  #heard(node: string, line: LogLine): void {
    const { service, evidence } = line;
    if (typeof service !== 'string' || typeof evidence !== 'string') return;
    this.#evidence.set(`${node}/${service}`, evidence);
    this.draw();
  }

  async kill(node: SimulatedNode, service: StandInKind): Promise<void> {
    this.#screen.log(`${node.name}: kill -9 ${service} (pid ${node.service(service).pid})`);
    this.#deeds.set(`${node.name}/${service}`, performance.now());
    await node.kill(service);
  }

  async revive(node: SimulatedNode, service: StandInKind): Promise<void> {
    this.#screen.log(`${node.name}: ${service} started again`);
    this.#deeds.set(`${node.name}/${service}`, performance.now());
    await node.revive(service);
  }

  draw(): void {
    const rows: Row[] = this.rig.nodes.map(({ name }) => {
      const labels = this.rig.history.labels(name);
      const missing = SERVICES.filter((service) => labels[this.rig.readyLabel(service)] !== 'true');
      return {
        node: name,
        labels: Object.fromEntries(SERVICES.map((service) => [service, !missing.includes(service)])),
        note: missing.map((service) => this.#evidence.get(`${name}/${service}`) ?? '').join('; '),
      };
    });
    this.#screen.table(rows, this.footer);
  }
}
