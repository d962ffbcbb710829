import { type Clock, sleep } from '@rollcall/common/clock.ts';
import { type Lifecycle, stopAndExit } from '@rollcall/common/lifecycle.ts';
import type { Logger } from '@rollcall/common/logging.ts';
import { createRegistry } from '@rollcall/common/metrics.ts';
import { collectionPath, WATCHED } from '@rollcall/common/watched-resources.ts';
import { COORDINATOR_DEPLOYMENT_NAME } from '@rollcall/common/well-known.ts';
import type { AskSkipped } from '../decide/intent/plan.ts';
import { prunePlan } from '../decide/intent/plan-node.ts';
import { type KubeClient, KubeStatusError } from '../kube/client.ts';
import { createKubeMetrics } from '../kube/kube-metrics.ts';
import { LeaderRequests } from '../kube/leader-requests.ts';
import type { KubeObject } from '../kube/objects.ts';
import { createReflector } from '../kube/reflector.ts';
import { realDependencies } from '../kube/runtime-dependencies.ts';
import { KeyRegistry } from '../model/keys/key-registry.ts';
import { createIntern } from '../state/intern.ts';
import { NodeStore } from '../state/node-store.ts';
import { observeNode } from '../state/observed-node.ts';
import { joinElection } from '../term/join-election.ts';
import { NodeWriter } from '../write/node-writer.ts';
import { SkippedKeys } from '../write/skipped-keys.ts';
import { WriteQueue } from '../write/write-queue.ts';
import { kubeClient, type Setup } from './replica-context.ts';

const POLL_MS = 50;
const PROGRESS_EVERY_MS = 5000;
const TIMEOUT_MS = 5000;
const RETRY_MS = 1000;
/** The Job of the chart is not run again after it. */
const REFUSED_CODE = 2;

/**
 * Takes the Lease, removes everything that rollcall owns from every node, waits until that holds, and exits with 0.
 * While other coordinators stop, it waits for the Lease. It removes nothing, and exits with 2, while their Deployment has
 * replicas: the Job of the chart also runs where kubectl applies everything that the chart renders. SIGTERM ends it with 1.
 */
export async function startPrune(setup: Setup, logger: Logger, life: Lifecycle): Promise<void> {
  const { config } = setup;
  const { signal } = life;
  const dependencies = realDependencies(setup.access);
  const { connect, uniqueName, clock, random } = dependencies;
  const registry = createRegistry('rollcall_coordinator');
  const metrics = createKubeMetrics(registry);
  const client = kubeClient(dependencies, metrics, logger);
  const keys = new KeyRegistry(config);
  const annotations = keys.names('annotation');
  const intern = createIntern<string>();
  const nodes: NodeStore = new NodeStore(({ name, next }) => (next ? writeQueue.add(name) : writeQueue.forget(name)));
  const skipped = new SkippedKeys(clock);
  /** All that is left to remove, or without what must wait. */
  const plan = (name: string, ask?: AskSkipped) => {
    const node = nodes.get(name);
    return node && prunePlan(node, keys, ask);
  };
  const prepare = (name: string) => {
    const node = nodes.get(name);
    return node && plan(name, skipped.asking(node).ask);
  };
  let isAlone = false;
  /** Looks whether coordinators are to run. Until it has found none, nothing is written. */
  const look = async () => {
    const namespace = setup.environment.ownNamespace;
    isAlone = !(await areCoordinatorsWanted(client, namespace, { clock, signal, logger }));
    if (isAlone || signal.aborted) return;
    const deployment = `${namespace}/${COORDINATOR_DEPLOYMENT_NAME}`;
    logger.error({ deployment }, 'Removed nothing: the Deployment has replicas; delete it, or scale it to 0');
    await stopAndExit(life, logger, 'coordinators run', REFUSED_CODE);
  };
  const election = joinElection({
    config,
    environment: setup.environment,
    // It takes no reports: agents that are sent here go on to try the others.
    leaderUrl: '',
    schedulerUrl: '',
    consoleUrl: '',
    onHistoryWentBack: () => {},
    // Again: another installation may have begun while it waited for the Lease.
    onStartedLeading: () => {
      isAlone = false;
      void look().then(() => {
        for (const name of nodes.names()) writeQueue.add(name);
      });
    },
    onStandby: () => {},
    connect,
    uniqueName,
    clock,
    random,
    logger,
    metrics,
  });
  const requests = new LeaderRequests({ client, fence: election, signal });
  const writeQueue: WriteQueue = new WriteQueue({
    observed: (name) => nodes.get(name),
    writer: new NodeWriter(requests),
    skipped,
    dryRun: config.dryRun,
    registry,
    logger,
    clock,
    random,
  });
  writeQueue.serve({
    prepare: (name) => (isAlone ? prepare(name) : undefined),
    sent: () => () => {},
    rested: () => {},
    written: (node) => nodes.written(observeNode(node, intern, annotations)),
    contested: () => {},
    skipped: () => {},
  });
  const watch = createReflector({
    client,
    path: collectionPath(WATCHED.nodes),
    clock,
    random,
    signal,
    logger,
    metrics,
    transform: (raw) => observeNode(raw, intern, annotations),
    handlers: {
      onListing: () => nodes.listing(),
      onReplace: (all) => nodes.replace(all),
      onUpsert: (node) => nodes.upsert(node),
      onDelete: ({ name }) => nodes.remove(name),
    },
  });
  await look();
  if (signal.aborted) return;
  life.onStop('election', () => election.release(requests.settled()));
  life.onStop('writes', () => writeQueue.stop());
  void watch.run();
  void election.run();
  let saidAtMs = Number.NEGATIVE_INFINITY;
  while (!signal.aborted) {
    const unclean = nodes.names().filter((name) => plan(name) !== undefined);
    const done = isAlone && watch.hasSynced() && election.isLeading() && (unclean.length === 0 || config.dryRun);
    if (done) {
      const message = config.dryRun ? 'Left every node as it is for the dry run' : 'Pruned every node';
      logger.info({ nodes: nodes.size, unclean: unclean.length }, message);
      return stopAndExit(life, logger, 'pruned');
    }
    if (clock.monotonic() - saidAtMs >= PROGRESS_EVERY_MS) {
      saidAtMs = clock.monotonic();
      const state = election.isLeading() ? 'Waited for nodes to be clean' : 'Waited for the Lease';
      logger.info({ nodes: nodes.size, unclean: unclean.length, first: unclean.slice(0, 5) }, state);
    }
    await sleep(clock, POLL_MS, signal);
  }
}

/** Whether the Deployment of the coordinator has replicas and is not being deleted. Asks until the API server answers. */
async function areCoordinatorsWanted(
  client: KubeClient,
  namespace: string,
  { clock, signal, logger }: { clock: Clock; signal: AbortSignal; logger: Logger },
): Promise<boolean> {
  const path = `/apis/apps/v1/namespaces/${namespace}/deployments/${COORDINATOR_DEPLOYMENT_NAME}`;
  type Deployment = KubeObject & { spec?: { replicas?: number } };
  for (; !signal.aborted; await sleep(clock, RETRY_MS, signal)) {
    try {
      const { metadata, spec } = await client.request<Deployment>({ method: 'GET', path, timeoutMs: TIMEOUT_MS });
      return metadata.deletionTimestamp === undefined && spec?.replicas !== 0;
    } catch (err) {
      if (err instanceof KubeStatusError && err.status === 404) return false;
      logger.warn({ err }, 'Failed to read the Deployment of the coordinator; trying again');
    }
  }
  return true;
}
