import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { ApiClient, KubeObject, PatchType } from '../../control-plane/api-client.ts';
import { createServiceAccount, type NodeObject, requestToken } from '../../control-plane/cluster.ts';
import { type ControlPlane, startControlPlane } from '../../control-plane/control-plane.ts';
import { ensureHelm, type Helm } from '../../helm/helm.ts';
import { Rig } from '../../rig/rig.ts';
import { NodeStates } from '../gitpod/node-states.ts';

const DEPLOY = path.resolve(import.meta.dirname, '../../../deploy');

/** Fields of CoordinatorConfiguration. */
type Config = Readonly<Record<string, unknown>>;

/** What `/v1/plan` says. */
type Plan = { nodes: { name: string; pending?: unknown }[] };

/**
 * A cluster in which the chart itself is installed, policies included, and coordinators that run with the configuration
 * and the rights of the release.
 */
export class MigrationStage {
  readonly controlPlane: ControlPlane;
  readonly api: ApiClient;
  readonly helm: (args: readonly string[], stdin?: string) => Promise<string>;
  readonly states: NodeStates;
  rig!: Rig;
  readonly #dir: string;
  readonly #values: object;

  private constructor(controlPlane: ControlPlane, helm: Helm, dir: string, values: object) {
    this.controlPlane = controlPlane;
    this.api = controlPlane.api;
    this.states = new NodeStates(this.api);
    this.#dir = dir;
    this.#values = values;
    const { kubeconfig } = controlPlane;
    this.helm = (args, stdin) => helm(args, stdin === undefined ? { kubeconfig } : { kubeconfig, stdin });
  }

  /** With these values of the chart besides the configuration. */
  static async start(values: object = {}): Promise<MigrationStage> {
    const helm = await ensureHelm();
    const controlPlane = await startControlPlane();
    await createServiceAccount(controlPlane.api, 'default', 'default');
    const dir = await mkdtemp(path.join(tmpdir(), 'rollcall-migration-'));
    await cp(path.join(DEPLOY, 'rules/accelerators'), path.join(dir, 'rules/accelerators'), { recursive: true });
    return new MigrationStage(controlPlane, helm, dir, values);
  }

  async stop(): Promise<void> {
    this.states.stop();
    await this.rig?.stop();
    await this.controlPlane.stop();
    await rm(this.#dir, { recursive: true, force: true });
  }

  kubectl(args: readonly string[], stdin?: string): Promise<string> {
    return this.controlPlane.kubectl(args, stdin === undefined ? {} : { stdin });
  }

  /** Runs a command of kubectl or Helm of the page on migration, with these values for its words in capitals. */
  async follow(command: string, values: Readonly<Record<string, string>> = {}): Promise<string> {
    const page = await readFile(path.join(DEPLOY, '../packages/docs/how-to/migrate.md'), 'utf8');
    const isThere = page.split('\n').some((line) => line.trim() === command) || page.includes(`\`${command}\``);
    if (!isThere) throw new Error(`The page has no command ${command}`);
    const [program, ...words] = command.split(' ');
    const filled = words.map((word) => word.replaceAll("'", '').replace(/[A-Z]{4,}/g, (name) => values[name] ?? name));
    const args = filled.map((word) => (word.startsWith('deploy/') ? path.join(DEPLOY, '..', word) : word));
    if (program === 'helm') return this.helm(args);
    if (program === 'kubectl') return this.kubectl(args);
    throw new Error(`Neither kubectl nor helm: ${command}`);
  }

  /** Installs the chart, or upgrades to this configuration, without a coordinator that would run with it. */
  async #release(config: Config): Promise<void> {
    const values = JSON.stringify({ ...this.#values, coordinator: { config } });
    const release = ['rollcall', path.join(DEPLOY, 'chart'), '--namespace', 'rollcall', '--create-namespace'];
    await this.helm(['upgrade', '--install', ...release, '--values', '-'], values);
    await this.#readConfig();
  }

  async #readConfig(): Promise<void> {
    const configMap = '/api/v1/namespaces/rollcall/configmaps/rollcall-coordinator';
    const { data } = await this.api.get<KubeObject & { data: Record<string, string> }>(configMap);
    await writeFile(this.#configFile, data['coordinator.yaml'] ?? '');
  }

  get #configFile(): string {
    return path.join(this.#dir, 'coordinator.yaml');
  }

  /** Installs the chart to look on, beside a predecessor that still runs. */
  async lookOn(config: Config = {}): Promise<void> {
    await this.#release({ ...config, dryRun: true });
    const token = await requestToken(this.api, { namespace: 'rollcall', serviceAccount: 'rollcall-coordinator' });
    const cluster = {
      api: this.api,
      coordinatorKubeconfig: await this.controlPlane.kubeconfigFor(token),
      kubectlPath: this.controlPlane.binaries.kubectl,
      kubeconfig: this.controlPlane.kubeconfig,
      stop: async () => {},
    };
    const coordinatorArgs = [`--config=${this.#configFile}`, `--label-dir=${path.join(this.#dir, 'rules')}`];
    this.rig = await Rig.start({ cluster, nodes: 0, coordinatorArgs });
  }

  /** Upgrades to a release that writes, as the page says. */
  async takeOver(): Promise<void> {
    await this.follow(
      'helm upgrade rollcall deploy/chart --namespace rollcall --reuse-values --set coordinator.config.dryRun=false',
    );
    await this.#readConfig();
    await this.rig.endCoordinator(await this.rig.leader(), 'SIGTERM');
    await this.rig.addCoordinator();
    await this.rig.leader();
  }

  /** Names of the Nodes about which something would be written. */
  async planned(): Promise<string[]> {
    const plan = await (await this.rig.leader()).console<Plan>('/v1/plan');
    return (plan?.nodes ?? []).map(({ name }) => name).sort();
  }

  read(node: string): Promise<NodeObject> {
    return this.api.get<NodeObject>(`/api/v1/nodes/${node}`);
  }

  /** Field managers that have written something about Nodes. */
  async managers(node: string): Promise<string[]> {
    const { managedFields = [] } = (await this.read(node)).metadata as { managedFields?: { manager: string }[] };
    return managedFields.map(({ manager }) => manager);
  }

  /** Writes a Node as a predecessor does that PUTs whole objects. */
  async put(node: string, manager: string, change: (object: NodeObject) => void): Promise<void> {
    const object = await this.read(node);
    change(object);
    await this.api.put(`/api/v1/nodes/${node}?fieldManager=${manager}`, object);
  }

  /** Writes a Node as a predecessor does that patches. */
  async patch(node: string, manager: string, body: object, type: PatchType = 'application/merge-patch+json') {
    await this.api.patch(`/api/v1/nodes/${node}?fieldManager=${manager}`, body, type);
  }
}
