import type { KubeConfig } from '@kubernetes/client-node';
import type { ReplicaDocument } from '@rollcall/common/console.ts';
import { stringify } from 'yaml';
import { type Console, openConsole } from './cluster/console.ts';
import { KubeApi } from './cluster/kube-api.ts';
import { loadKubeConfig } from './cluster/kube-config.ts';
import { CommandFailure } from './failure.ts';
import type { Terminal } from './text/page.ts';

/** Flags that every command has. */
export type CommonFlags = {
  namespace: string;
  context?: string;
  kubeconfig?: string;
  consoleUrl?: string;
  output?: 'wide' | 'json' | 'yaml';
};

/** What a command has to do with: the cluster, the console, and what it prints to. */
export type Surroundings = {
  flags: CommonFlags;
  terminal: Terminal;
  isWide: boolean;
  kubeConfig: () => KubeConfig;
  kube: () => KubeApi;
  /** Asks the console, and closes it again. */
  withConsole: <T>(work: (console: Console) => Promise<T>) => Promise<T>;
  print: (text: string) => void;
  /** What is for people only while they wait. */
  note: (text: string) => void;
};

export type Streams = { print: (text: string) => void; note: (text: string) => void };

export function surroundingsOf(
  flags: CommonFlags,
  terminal: Terminal,
  streams: Streams,
  signal: AbortSignal,
): Surroundings {
  let config: KubeConfig | undefined;
  const kubeConfig = () => {
    config ??= loadKubeConfig(flags, signal);
    return config;
  };
  return {
    flags,
    terminal,
    isWide: flags.output === 'wide',
    kubeConfig,
    kube: () => new KubeApi(kubeConfig()),
    withConsole: async (work) => {
      const console = await openConsole(kubeConfig, flags);
      try {
        return await work(console);
      } finally {
        console.close();
      }
    },
    ...streams,
  };
}

/** A document for programs, where they ask for one. */
export function printedFor({ flags, print }: Surroundings, document: unknown): boolean {
  if (flags.output !== 'json' && flags.output !== 'yaml') return false;
  print(flags.output === 'json' ? `${JSON.stringify(document, null, 2)}\n` : stringify(document, { lineWidth: 0 }));
  return true;
}

/** Only the leader hears agents. Throws where another replica answered. */
export function mustLead({ flags }: Surroundings, { leading, leader }: ReplicaDocument): void {
  if (leading) return;
  const logs = `kubectl -n ${flags.namespace} logs -l app.kubernetes.io/component=coordinator --tail=20`;
  const cure = leader === undefined ? `no leader is known; see why: ${logs}` : `ask the leader, ${leader}`;
  throw new CommandFailure('The state is unknown: the replica that answered does not lead', cure);
}
