import { readFileSync } from 'node:fs';
import type { Clock } from '@rollcall/common/clock.ts';
import { configInvalid } from '@rollcall/common/config/load.ts';
import { closeServer, type ListenAddress, listen } from '@rollcall/common/http-server.ts';
import type { Lifecycle } from '@rollcall/common/lifecycle.ts';
import type { Logger } from '@rollcall/common/logging.ts';
import type { Registry } from '@rollcall/common/metrics.ts';
import { coordinatorServerName } from '@rollcall/common/well-known.ts';
import type { CoordinatorConfig } from './config.ts';
import type { Decider } from './decider.ts';
import { createExtenderServer } from './extender/extender-server.ts';
import { createForwardResponder, type Leader } from './extender/forward.ts';
import { createLocalResponder } from './extender/local-responder.ts';
import { createExtenderMetrics } from './extender/metrics.ts';
import { NodeIndex } from './fleet/node-index.ts';
import { schedulableNode } from './schedulable.ts';
import { SchedulingDesk } from './scheduler/desk.ts';
import { countWorkspaces, type ObservedWorkspacePod } from './scheduler/workspace-pods.ts';
import { parseScoreWeights } from './score-weights.ts';
import type { CertificateHolder } from './tls/certificate-holder.ts';
import { parseCertificate } from './tls/certificate-info.ts';

const CLOSE_GRACE_MS = 500;

export type SchedulingOptions = {
  config: CoordinatorConfig;
  decider: () => Decider;
  clock: Clock;
};

/** What is known for the scheduler's questions, beside what everybody knows. */
export class Scheduling {
  readonly desk: SchedulingDesk;
  readonly #pods: NodeIndex<ObservedWorkspacePod>;
  readonly #options: SchedulingOptions;
  #podsKnown = false;

  constructor(options: SchedulingOptions) {
    const { config, decider, clock } = options;
    this.#options = options;
    const { watchedServices: services, readinessGate: gate } = config;
    this.#pods = new NodeIndex<ObservedWorkspacePod>((previous, next) => this.#podChanged(previous, next));
    this.desk = new SchedulingDesk({
      clock,
      limits: { maxWorkspacesPerNode: config.maxWorkspacesPerNode, maxStartingPerNode: config.maxStartingPerNode },
      weights: parseScoreWeights(config.scoreWeights).weights,
      namespace: config.namespace,
      node: (name) => {
        const node = decider().fleet.node(name);
        const judged = decider().judged(name);
        const workspaces = this.#podsKnown ? countWorkspaces(this.#pods.on(name)) : undefined;
        return node && judged && schedulableNode(node, judged, workspaces, { services, gate });
      },
    });
  }

  /** What a watch of the workspaces' pods is to be handed to. */
  get podHandlers() {
    return {
      onReplace: (pods: ObservedWorkspacePod[]) => {
        this.#podsKnown = true;
        this.#pods.replace(pods);
        this.desk.allChanged();
        for (const pod of pods) this.#settle(pod);
      },
      onUpsert: (pod: ObservedWorkspacePod) => {
        this.#pods.upsert(pod);
        this.#settle(pod);
      },
      onDelete: (pod: ObservedWorkspacePod) => {
        this.#pods.remove(pod);
        this.desk.settled(pod.uid);
      },
    };
  }

  /** A node may be other than it was, or gone. */
  changed(node: string): void {
    this.desk.changed(node);
    if (this.desk.hintDue(node)) this.#options.decider().hint(node);
  }

  #podChanged(previous: ObservedWorkspacePod | undefined, next: ObservedWorkspacePod | undefined): void {
    for (const pod of [previous, next]) if (pod) this.changed(pod.node);
  }

  /** Only when the pod counts on its node: it is no longer counted as on its way. */
  #settle(pod: ObservedWorkspacePod): void {
    if (!pod.waiting) this.desk.settled(pod.uid);
  }
}

export type ExtenderOptions = {
  config: CoordinatorConfig;
  /** Namespace of the coordinator. */
  ownNamespace: string;
  address: ListenAddress;
  scheduling: Scheduling;
  /** Whether this replica answers itself. */
  leads: () => boolean;
  /** Where the leader answers, when it is another. */
  leaderUrl: () => string | undefined;
  /** Of the listener for reports, which serve here, too. */
  certificates: CertificateHolder | undefined;
  clock: Clock;
  logger: Logger;
  registry: Registry;
};

/** Opens the scheduler extender, until the program stops. Throws LISTEN_FAILED, and CONFIG_INVALID for its CA file. */
export async function openExtender(
  options: ExtenderOptions,
  life: Lifecycle,
): Promise<{ host: string; port: number } | undefined> {
  const { config, ownNamespace, address, scheduling, leads, leaderUrl, certificates, clock, logger, registry } =
    options;
  const metrics = createExtenderMetrics(registry);
  if (!address) return undefined;
  const { desk } = scheduling;
  const local = createLocalResponder({
    handler: {
      filter: (pod, names) => desk.filter(pod, names),
      prioritize: (pod, names) => desk.prioritize(pod, names),
      predicate: (pod, nodes) => desk.predicate(pod, nodes),
    },
    metrics,
  });
  const leader = (): Leader | undefined => {
    const url = leaderUrl();
    if (url === undefined) return undefined;
    const pair = certificates?.current;
    // All replicas serve the certificate of one Secret, or of one file: the leader's is this one's.
    if (!pair) return { url };
    const { cert, key, authority = cert } = pair;
    return { url, ca: authority, serverName: coordinatorServerName(ownNamespace), cert, key };
  };
  const forward = createForwardResponder({ leader, clock });
  const clientCas = readClientCas(config);
  const server = createExtenderServer({
    respond: (question) => (leads() ? local : forward)(question),
    ...(config.schedulerTls === 'on' && certificates ? { certificates } : {}),
    ...(clientCas ? { clientCas } : {}),
    metrics,
    clock,
    logger,
  });
  const bound = await listen(server, address);
  life.onStop('scheduler extender', () => closeServer(server, CLOSE_GRACE_MS));
  return bound;
}

/**
 * Whose certificates are good for clients, PEM, one by one; `undefined` where clients need none. Throws CONFIG_INVALID
 * for a file that cannot be read, holds none, or one that is damaged.
 */
export function readClientCas({
  schedulerClientCaFile: file,
}: Pick<CoordinatorConfig, 'schedulerClientCaFile'>): string[] | undefined {
  if (file === undefined) return undefined;
  const flag = '--scheduler-client-ca-file';
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (cause) {
    throw configInvalid(flag, `cannot read ${file}`, cause);
  }
  const blocks = text.split(/(?=-----BEGIN )/).filter((block) => block.startsWith('-----BEGIN '));
  if (blocks.length === 0) throw configInvalid(flag, `${file} holds no certificate in PEM`);
  try {
    return blocks.map((block) => parseCertificate(block).pem);
  } catch (cause) {
    throw configInvalid(flag, `${file} holds something that is not a certificate in PEM`, cause);
  }
}
