import { sleep } from '@rollcall/common/clock.ts';
import { type Lifecycle, stopAndExit } from '@rollcall/common/lifecycle.ts';
import type { Logger } from '@rollcall/common/logging.ts';
import { createRegistry } from '@rollcall/common/metrics.ts';
import { collectionPath, WATCHED } from '@rollcall/common/watched-resources.ts';
import { prunePlan } from '../decide/intent/plan-node.ts';
import { createKubeMetrics } from '../kube/kube-metrics.ts';
import { createReflector } from '../kube/reflector.ts';
import { realDependencies } from '../kube/runtime-dependencies.ts';
import { KeyRegistry } from '../model/keys/key-registry.ts';
import { createIntern } from '../state/intern.ts';
import { NodeStore } from '../state/node-store.ts';
import { observeNode } from '../state/observed-node.ts';
import { joinElection } from '../term/election.ts';
import { NodeWriter } from '../write/node-writer.ts';
import { SkippedKeys } from '../write/skipped-keys.ts';
import { WriteQueue } from '../write/write-queue.ts';
import { kubeClient, type Setup } from './replica-context.ts';

const POLL_MS = 50;
const PROGRESS_EVERY_MS = 5000;

/**
 * Takes the Lease, removes everything that rollcall owns from every node, waits until that holds, and exits with 0.
 * While other coordinators run, it waits for them to stop: they would put back what it takes away. SIGTERM ends it with 1.
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
  const plan = (name: string) => {
    const node = nodes.get(name);
    return node && prunePlan(node, keys);
  };
  const election = joinElection({
    config,
    environment: setup.environment,
    // It takes no reports: agents that are sent here go on to try the others.
    leaderUrl: '',
    schedulerUrl: '',
    consoleUrl: '',
    onStartedLeading: () => {
      for (const name of nodes.names()) writeQueue.add(name);
    },
    onStandby: () => {},
    connect,
    uniqueName,
    clock,
    random,
    logger,
    metrics,
  });
  const writeQueue: WriteQueue = new WriteQueue({
    observed: (name) => nodes.get(name),
    writer: new NodeWriter(client),
    skipped: new SkippedKeys(clock),
    dryRun: config.dryRun,
    fence: election,
    registry,
    logger,
    clock,
    random,
  });
  writeQueue.serve({
    prepare: plan,
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
  life.onStop('election', () => election.release(writeQueue.settled()));
  life.onStop('writes', () => writeQueue.stop());
  void watch.run();
  void election.run();
  let saidAtMs = Number.NEGATIVE_INFINITY;
  while (!signal.aborted) {
    const unclean = nodes.names().filter((name) => plan(name) !== undefined);
    const done = watch.hasSynced() && election.isLeading() && (unclean.length === 0 || config.dryRun);
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
