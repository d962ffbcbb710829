import type { ChildProcess } from 'node:child_process';
import { copyFile, mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { exitOf, hasExited, lastLines, spawnChild } from '../control-plane/child.ts';
import type { NodeObject } from '../control-plane/cluster.ts';
import { Component } from '../control-plane/component.ts';
import { waitFor } from '../control-plane/wait-for.ts';
import type { UsbDevice } from '../fixtures/usb.ts';
import type { NodeBinaries } from './binaries.ts';
import { createCgroup, processesIn, removeCgroup } from './cgroups.ts';
import { run, runShell, systemPath } from './command.ts';
import type { Control } from './control.ts';
import { writeKeyPair } from './key-pair.ts';
import {
  containerdConfig,
  initScript,
  kubeletConfig,
  type NodeSettings,
  networkConfig,
  proxyConfig,
} from './node-files.ts';
import { nodesMax, type Place } from './place.ts';
import { plugUsb, unplugUsb } from './usb.ts';

const namespaces = ['--mount', '--net', '--pid', '--uts', '--ipc'];
const readyWithinMs = 60_000;

interface Heartbeat {
  readonly status: string;
  /** RFC 3339. */
  readonly lastHeartbeatTime: string;
}

/** How a kubelet registers its node. */
export interface NodeOptions {
  /** NodeRestriction says which it may set. */
  readonly labels?: Readonly<Record<string, string>>;
  /** Each as `key=value:Effect`. */
  readonly taints?: readonly string[];
}

export interface NodeParts {
  readonly place: Place;
  /** From 0; gives the node its name and addresses. */
  readonly index: number;
  readonly binaries: NodeBinaries;
  readonly pluginDir: string;
  readonly options: NodeOptions;
  /** Settled when the API server is ready; containerd is started before. */
  readonly control: Promise<Control>;
  /** Archives of what is in its image store before its kubelet starts. */
  readonly images: readonly string[];
}

/**
 * A node: namespaces of its own, in which a containerd, a kubelet and a kube-proxy run. When its first process is
 * killed, the kernel kills all the others.
 */
export class RealNode {
  readonly name: string;
  readonly ip: string;
  readonly podCidr: string;
  /** Its files and the logs of its components. */
  readonly dir: string;
  readonly #parts: NodeParts;
  readonly #cgroup: string;
  #unshare: ChildProcess | undefined;
  #components: Component[] = [];
  readonly #imported = new Set<string>();
  #pid: number | undefined;

  constructor(parts: NodeParts) {
    const { place, index } = parts;
    this.#parts = parts;
    this.name = `node-${index + 1}`;
    this.ip = place.node(index).ip;
    this.podCidr = place.node(index).podCidr;
    this.dir = join(place.dir, this.name);
    this.#cgroup = `${place.cgroup}/${this.name}`;
  }

  /** Process id of the node's first process on the host; `undefined` while the node is down. */
  get pid(): number | undefined {
    return this.#pid;
  }

  /** The directory of the node's device tree that may be written to, for the host: what a pod sees as `/sys/bus`. */
  get sysBusDir(): string {
    return `/proc/${this.#running()}/root/sys/bus`;
  }

  /** AgentSessions the node and waits until the API server has it Ready. */
  async start(): Promise<void> {
    if (this.#pid !== undefined) throw new Error(`${this.name} is running already`);
    await this.#boot();
    await this.#connect();
    await this.#startContainerd();
    const missing = this.#parts.images.filter((archive) => !this.#imported.has(archive));
    await Promise.all(missing.map((archive) => this.importImage(archive)));
    const control = await this.#parts.control;
    const startedMs = Date.now();
    await this.#startKubernetes(control);
    await this.#becomeReady(control, startedMs);
  }

  /** Kills every process at once without notice, as a power failure does. */
  async kill(): Promise<void> {
    if (this.#unshare !== undefined && !hasExited(this.#unshare)) {
      if (this.#pid === undefined) this.#unshare.kill('SIGKILL');
      else process.kill(this.#pid, 'SIGKILL');
      await exitOf(this.#unshare);
    }
    this.#pid = undefined;
    await Promise.all(this.#components.map((each) => each.kill('SIGKILL')));
    this.#components = [];
    await removeCgroup(this.#cgroup);
  }

  /** Kills it, should it run, and boots it again with what is on its disk. */
  async restart(): Promise<void> {
    await this.kill();
    await this.start();
  }

  /** Runs a command in the namespaces of the node and returns its standard output. */
  enter(command: string, args: readonly string[] = []): Promise<string> {
    return run('nsenter', [...this.#target(), command, ...args]);
  }

  /** What runs a command that follows it as a process of the node's own system, with its files and its network. */
  get within(): readonly string[] {
    return ['nsenter', '--target', String(this.#running()), '--mount', '--net', '--'];
  }

  /** Puts an image into the node's store, of the platform of this machine; the archive may hold several. */
  async importImage(archive: string): Promise<void> {
    await this.enter('ctr', ['--namespace=k8s.io', 'images', 'import', archive]);
    this.#imported.add(archive);
  }

  /** Ids, as the host sees them, of the processes of a pod's containers: they can be killed, or stopped, from there. */
  async podProcesses(podUid: string): Promise<number[]> {
    const pids = await processesIn(this.#cgroup, `pod${podUid}`);
    const commands = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')));
    return pids.filter((_, index) => commands[index]?.startsWith('/pause\0') === false);
  }

  /** Adds a device to the node's device tree, and sends the udev event. */
  async plugUsb(device: UsbDevice): Promise<void> {
    await this.#udev(await plugUsb(join(this.sysBusDir, 'usb/devices'), device));
  }

  /** @throws when no device is plugged in there. */
  async unplugUsb(port: string): Promise<void> {
    await this.#udev(await unplugUsb(join(this.sysBusDir, 'usb/devices'), port));
  }

  async #udev(properties: readonly string[]): Promise<void> {
    await this.enter(this.#parts.binaries['node-tool'], ['uevent', ...properties]);
  }

  async #boot(): Promise<void> {
    const { dir, name } = this;
    await mkdir(dir, { recursive: true });
    await createCgroup(this.#cgroup);
    await rm(join(dir, 'ready'), { force: true });
    // The file itself may be a link into the host's /run.
    await copyFile('/etc/resolv.conf', join(dir, 'resolv.conf'));
    const script = initScript({ name, dir }, this.#parts.binaries['node-tool']);
    const logFile = join(dir, 'init.log');
    const child = spawnChild('unshare', {
      args: [...namespaces, '--fork', '--kill-child', '--mount-proc', '--propagation=slave', 'sh', '-ec', script],
      logFile,
      env: { PATH: systemPath },
    });
    this.#unshare = child;
    await waitFor(`${name} to boot`, async () => {
      if (hasExited(child)) return true;
      await stat(join(dir, 'ready'));
      return true;
    });
    if (hasExited(child)) throw new Error(`${name} did not boot; ${logFile} ends with\n${await lastLines(logFile)}`);
    this.#pid = await childOf(child.pid);
  }

  async #connect(): Promise<void> {
    const { place, index } = this.#parts;
    const { veth } = place.node(index);
    const others = Array.from({ length: nodesMax }, (_, other) => place.node(other)).filter(({ ip }) => ip !== this.ip);
    // The kernel takes a moment to remove the one of a node that was killed.
    await runShell(`ip link delete ${veth} 2>/dev/null || true
      ip link add ${veth} type veth peer name eth0 netns ${this.#running()}
      ip link set ${veth} master ${place.bridge} up
      ip route replace ${this.podCidr} via ${this.ip} dev ${place.bridge}`);
    await this.enter('sh', [
      '-ec',
      `ip address add ${this.ip}/24 dev eth0
      ip link set eth0 up
      ip route add default via ${place.hostIp}
      ${others.map(({ podCidr, ip }) => `ip route add ${podCidr} via ${ip}`).join('\n')}`,
    ]);
  }

  async #startContainerd(): Promise<void> {
    const config = join(this.dir, 'containerd.toml');
    const settings = this.#settings({ caFile: '', certFile: '', keyFile: '', proxyKubeconfig: '' });
    await writeFile(config, containerdConfig(settings));
    await mkdir(join(this.dir, 'cni'), { recursive: true });
    await writeFile(join(this.dir, 'cni/10-rollcall.conflist'), networkConfig(settings));
    await this.#run('containerd', 'containerd', ['--config', config], async () => {
      await this.enter('ctr', ['version']);
      return true;
    });
  }

  async #startKubernetes(control: Control): Promise<void> {
    const { options, binaries } = this.#parts;
    const user = `system:node:${this.name}`;
    const kubeconfig = await control.kubeconfigFor(this.name, user, ['system:nodes']);
    const serving = await control.authority.issue({ commonName: user, hosts: [this.ip, this.name] });
    const { cert, key } = await writeKeyPair(this.dir, 'kubelet', serving);
    const proxyKubeconfig = await control.kubeconfigFor(`${this.name}-proxy`, 'system:kube-proxy');
    const settings = this.#settings({ caFile: control.caFile, certFile: cert, keyFile: key, proxyKubeconfig });
    const [kubeletFile, proxyFile] = [join(this.dir, 'kubelet.yaml'), join(this.dir, 'kube-proxy.yaml')];
    await writeFile(kubeletFile, kubeletConfig(settings));
    await writeFile(proxyFile, proxyConfig(settings));
    const labels = Object.entries(options.labels ?? {}).map(([name, value]) => `${name}=${value}`);
    const taints = options.taints ?? [];
    const args = [
      `--config=${kubeletFile}`,
      `--kubeconfig=${kubeconfig}`,
      `--hostname-override=${this.name}`,
      `--node-ip=${this.ip}`,
      '--v=2',
      ...(labels.length === 0 ? [] : [`--node-labels=${labels.join(',')}`]),
      ...(taints.length === 0 ? [] : [`--register-with-taints=${taints.join(',')}`]),
    ];
    await Promise.all([
      this.#run('kubelet', binaries.kubelet, args, async () => {
        await control.api.get(`/api/v1/nodes/${this.name}`);
        return true;
      }),
      this.#run('kube-proxy', binaries['kube-proxy'], [`--config=${proxyFile}`], async () => true),
    ]);
  }

  /** Waits for the kubelet. Conditions from before this start do not count; their times are in whole seconds. */
  async #becomeReady({ api }: Control, startedMs: number): Promise<void> {
    await waitFor(
      `${this.name} to be Ready`,
      async () => {
        const node = await api.get<NodeObject>(`/api/v1/nodes/${this.name}`);
        const ready = node.status.conditions?.find(({ type }) => type === 'Ready') as Heartbeat | undefined;
        const isFresh = ready !== undefined && Date.parse(ready.lastHeartbeatTime) >= startedMs - 1_000;
        return isFresh && ready.status === 'True';
      },
      { timeoutMs: readyWithinMs, everyMs: 100 },
    );
  }

  async #run(name: string, command: string, args: readonly string[], isReady: () => Promise<boolean>): Promise<void> {
    const component = new Component({
      name: `${name} of ${this.name}`,
      // A high priority, so that other processes do not starve the node; cgroups.ts does the same for its pods.
      command: 'nice',
      args: ['-n', '-5', 'nsenter', ...this.#target(), 'env', `PATH=${systemPath}`, command, ...args],
      logFile: join(this.dir, `${name}.log`),
      cwd: this.dir,
      isReady,
    });
    this.#components.push(component);
    await component.start();
  }

  #settings(files: Pick<NodeSettings, 'caFile' | 'certFile' | 'keyFile' | 'proxyKubeconfig'>): NodeSettings {
    const { name, ip, podCidr, dir } = this;
    const { place, pluginDir } = this.#parts;
    const { podCidr: clusterCidr, registriesDir } = place;
    return { name, ip, podCidr, dir, pluginDir, registriesDir, clusterCidr, cgroup: this.#cgroup, ...files };
  }

  #target(): string[] {
    return ['--target', String(this.#running()), ...namespaces];
  }

  #running(): number {
    if (this.#pid === undefined) throw new Error(`${this.name} is down`);
    return this.#pid;
  }
}

/** Finds the only child of a process, since the kernel may not list children. */
async function childOf(parent: number | undefined): Promise<number> {
  for (const entry of await readdir('/proc')) {
    if (!/^\d+$/.test(entry)) continue;
    const text = await readFile(`/proc/${entry}/stat`, 'utf8').catch(() => '');
    // The name of the command, in parentheses, may have anything in it.
    const [, ppid] = text.slice(text.lastIndexOf(')') + 2).split(' ');
    if (Number(ppid) === parent) return Number(entry);
  }
  throw new Error(`process ${parent} has no child`);
}
