import type { ProgressStream } from '../control-plane/progress.ts';
import { installPackages } from './apt-get.ts';
import { findCommand, isExecutable } from './command.ts';

/** What a node is made of besides the binaries of Kubernetes: the Debian packages, and the commands for which each is there. */
const commandsOf: Readonly<Record<string, readonly string[]>> = {
  containerd: ['containerd', 'containerd-shim-runc-v2', 'ctr'],
  runc: ['runc'],
  iptables: ['iptables'],
  nftables: ['nft'],
  conntrack: ['conntrack'],
};
const pluginsPackage = 'containernetworking-plugins';
const pluginDirs = ['/usr/lib/cni', '/opt/cni/bin', '/usr/libexec/cni'];
const plugins = ['bridge', 'host-local', 'loopback', 'portmap'];

/**
 * Installs with apt-get what is missing, and shows that it does. Nothing is done where all is there, from whatever
 * source. @throws saying what is missing where that cannot be installed.
 */
export async function ensurePackages(log: ProgressStream): Promise<void> {
  const missing = await missingPackages();
  if (missing.length === 0) return;
  await installPackages(missing, log);
  const still = await missingPackages();
  if (still.length > 0) throw new Error(`${still.join(' ')} not found, although installed with apt-get`);
}

/** The directory with the plugins by which containerd gives pods their network. */
export async function findPluginDir(): Promise<string | undefined> {
  for (const dir of pluginDirs) {
    const found = await Promise.all(plugins.map((name) => isExecutable(`${dir}/${name}`)));
    if (found.every(Boolean)) return dir;
  }
  return undefined;
}

async function missingPackages(): Promise<string[]> {
  const missing: string[] = [];
  for (const [name, commands] of Object.entries(commandsOf)) {
    const found = await Promise.all(commands.map(findCommand));
    if (found.includes(undefined)) missing.push(name);
  }
  if ((await findPluginDir()) === undefined) missing.push(pluginsPackage);
  return missing;
}
