import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ApiClient } from '../control-plane/api-client.ts';
import { ensureBinaries } from '../control-plane/binaries.ts';
import { runKubectl } from '../control-plane/kubectl.ts';
import type { ProgressStream } from '../control-plane/progress.ts';
import { ensureNodeBinaries, type NodeBinaries } from './binaries.ts';
import { type Control, startControl } from './control.ts';
import { renameImage, writeProgramImage } from './image-archive.ts';
import { type NodeOptions, RealNode } from './node.ts';
import { pauseImage } from './node-files.ts';
import { ensurePackages, findPluginDir } from './packages.ts';
import { closePlace, nodesMax, openPlace } from './place.ts';

export interface RealClusterOptions {
  /** How many, or how each registers; at most 4. */
  readonly nodes: number | readonly NodeOptions[];
  /** Controllers that do not run, such as `node-lifecycle-controller`. */
  readonly without?: readonly string[];
  /** Where the progress of obtaining binaries is shown; defaults to standard error. */
  readonly log?: ProgressStream;
}

export interface RealCluster {
  /** `https://<address on the bridge>:<port>`. */
  readonly url: string;
  /** PEM. */
  readonly ca: string;
  /** A client that may do everything. */
  readonly api: ApiClient;
  readonly adminToken: string;
  /** Its processes, and the key that tokens are signed with. */
  readonly control: Pick<Control, 'etcd' | 'apiServer' | 'signingKeyFile'>;
  /** Path of a kubeconfig that may do everything. */
  readonly kubeconfig: string;
  /** IP of the host on the bridge, at which nodes and pods reach it. */
  readonly hostIp: string;
  /** Logs and files of everything that runs; it goes with `stop`. */
  readonly dir: string;
  /** `node-1`, `node-2` and so on; those that were killed, too. */
  readonly nodes: readonly RealNode[];
  readonly binaries: NodeBinaries;
  /** Runs kubectl as admin and returns its standard output. @throws with its standard error. */
  kubectl(args: readonly string[], options?: { stdin?: string }): Promise<string>;
  /** One more node, which is Ready. @throws when there are 4 already. */
  addNode(options?: NodeOptions): Promise<RealNode>;
  /** Gives every node that runs, or is added, an image from an OCI archive; pods ask for it by `reference`. */
  importImage(archive: string, reference: string): Promise<void>;
  /** Has nodes pull from a registry, HOST:PORT, over HTTP. */
  trustRegistry(name: string): Promise<void>;
  /** Kills every process and removes what the run had on this machine; may be called again. */
  stop(): Promise<void>;
}

/** What nodes need of a machine that can run them: packages, binaries. @throws saying what is not to be had. */
export async function prepareMachine(log: ProgressStream = process.stderr): Promise<void> {
  await ensurePackages(log);
  await ensureBinaries({ log });
  await ensureNodeBinaries({ log });
}

/**
 * Starts a cluster of real nodes, and waits until they are Ready: each has a containerd, a kubelet and a kube-proxy in
 * namespaces of its own. There is no DNS in it, and its pods reach nothing outside. Needs root.
 */
export async function startRealCluster(options: RealClusterOptions): Promise<RealCluster> {
  const log = options.log ?? process.stderr;
  await ensurePackages(log);
  const [controlBinaries, binaries] = [await ensureBinaries({ log }), await ensureNodeBinaries({ log })];
  const pluginDir = (await findPluginDir()) ?? '';
  const place = await openPlace();
  const nodes: RealNode[] = [];
  const images = [join(place.dir, 'pause.tar')];
  const starting = startControl(place, { ...controlBinaries, ...binaries }, options.without);

  const addNode = async (nodeOptions: NodeOptions = {}) => {
    const index = nodes.length;
    if (index >= nodesMax) throw new Error(`a run has addresses for ${nodesMax} nodes only`);
    const node = new RealNode({ place, index, binaries, pluginDir, options: nodeOptions, control: starting, images });
    nodes.push(node);
    await node.start();
    return node;
  };
  let stopped = false;
  const stop = async () => {
    if (stopped) return;
    stopped = true;
    await Promise.all(nodes.map((node) => node.kill()));
    await starting.then(
      (control) => control.stop(),
      () => {},
    );
    await closePlace(place);
  };

  let control: Control;
  try {
    await writeProgramImage(join(place.dir, 'pause.tar'), pauseImage, binaries['node-tool'], 'pause');
    const wanted =
      typeof options.nodes === 'number' ? Array.from({ length: options.nodes }, () => ({})) : options.nodes;
    const started = await Promise.allSettled([starting, ...wanted.map(addNode)]);
    for (const each of started) if (each.status === 'rejected') throw each.reason;
    control = await starting;
  } catch (error) {
    await stop();
    throw error;
  }
  const { url, api, adminToken, kubeconfig } = control;
  const kubectl = { command: controlBinaries.kubectl, kubeconfig, home: place.dir };
  return {
    url,
    ca: control.authority.cert,
    api,
    adminToken,
    control,
    kubeconfig,
    hostIp: place.hostIp,
    dir: place.dir,
    nodes,
    binaries,
    kubectl: (args, { stdin } = {}) => runKubectl(kubectl, args, stdin),
    addNode,
    async importImage(archive, reference) {
      const image = await renameImage(archive, reference, join(place.dir, `image-${images.length}`));
      images.push(image);
      await Promise.all(nodes.filter(({ pid }) => pid !== undefined).map((node) => node.importImage(image)));
    },
    async trustRegistry(name) {
      const dir = join(place.registriesDir, name);
      await mkdir(dir, { recursive: true });
      await writeFile(join(dir, 'hosts.toml'), `[host."http://${name}"]\n  capabilities = ["pull", "resolve"]\n`);
    },
    stop,
  };
}
