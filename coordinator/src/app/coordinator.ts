import { constants, type PerformanceEntry, PerformanceObserver } from 'node:perf_hooks';
import { setFlagsFromString } from 'node:v8';
import { type Clock, every } from '@rollcall/common/clock.ts';
import { guarded } from '@rollcall/common/guarded.ts';
import type { Lifecycle } from '@rollcall/common/lifecycle.ts';
import type { Logger } from '@rollcall/common/logging.ts';
import { VERSION } from '@rollcall/common/version.ts';
import { findStrayTaints } from '../decide/stray-taints.ts';
import { type RuntimeDependencies, realDependencies } from '../kube/runtime-dependencies.ts';
import { advertisedUrl, consoleUrl, urlOf } from '../model/urls.ts';
import { joinElection } from '../term/join-election.ts';
import { type Listeners, openListeners } from './listeners.ts';
import { createReplica, type Replica } from './replica.ts';
import { createReplicaContext, type ReplicaContext, type Setup, until } from './replica-context.ts';

const TICK_MS = 1000;
/** How far the heap may grow beyond what is alive before V8 collects garbage; by default it doubles. */
const HEAP_GROWING_PERCENT = 20;
/** Until the nodes have their labels, a heap that grows so slowly would cost half as much CPU again. */
const HEAP_GROWS_FREELY_MS = 30_000;
/** Each collection moves a few megabytes together, so that whole pages become free. */
const COLLECTIONS = 5;
const COLLECTION_PAUSE_MS = 5000;

/** Of this process, which has one heap, however many coordinators run in it for a test. */
let growsSlowly = false;

/** What the types of Node.js leave out of an entry about garbage. */
type GcEntry = PerformanceEntry & { detail?: { kind?: number } };

/** Injected dependencies: clock, randomness, API client, listeners. */
type Dependencies = { dependencies: RuntimeDependencies; open: typeof openListeners };

/** Starts every part of a replica, in the order in which they need each other. */
export async function startCoordinator(
  setup: Setup,
  logger: Logger,
  life: Lifecycle,
  { dependencies, open }: Dependencies = { dependencies: realDependencies(setup.access), open: openListeners },
): Promise<void> {
  const context = createReplicaContext(setup, logger, life, dependencies);
  const replica = await createReplica(context);
  const listeners = await open(context, replica, life);
  const election = join(context, replica, listeners);
  life.onStop('election', () => election.release(context.requests.settled()));
  life.onStop('writes', () => replica.writer.stop());

  run(context, replica, listeners);
  const { config, clock, signal } = context;
  const { readinessGate: gate, dryRun } = config;
  logger.info({ version: VERSION, ...listeners.addresses, gate, dryRun }, 'Started');
  await until(() => replica.watches.unsynced().length === 0, clock, signal);
  if (signal.aborted) return;
  logger.info({ nodes: replica.fleet.nodeNames().length }, 'Listed everything');
  clock.after(HEAP_GROWS_FREELY_MS, () => letHeapGrowSlowly(clock));
  void election.run();
}

/**
 * V8 applies the limit at its next collection of the whole heap, which the limit of the start puts off for as long as
 * little becomes old: a leader would keep the garbage of the start. So it begins one now, in small steps, and some more.
 */
function letHeapGrowSlowly(clock: Clock): void {
  if (growsSlowly) return;
  growsSlowly = true;
  setFlagsFromString(`--heap-growing-percent=${HEAP_GROWING_PERCENT}`);
  const begin = () => setFlagsFromString('--incremental-marking-hard-trigger=1');
  let left = COLLECTIONS;
  const observer = new PerformanceObserver((list) => {
    const entries: GcEntry[] = list.getEntries();
    if (!entries.some(({ detail }) => detail?.kind === constants.NODE_PERFORMANCE_GC_MAJOR)) return;
    setFlagsFromString('--incremental-marking-hard-trigger=0');
    left -= 1;
    if (left > 0) clock.after(COLLECTION_PAUSE_MS, begin);
    else observer.disconnect();
  });
  observer.observe({ entryTypes: ['gc'] });
  begin();
}

/** Prepares the part of this replica in the election. */
function join(context: ReplicaContext, replica: Replica, listeners: Listeners) {
  const { config, environment, connect, uniqueName, clock, random, logger, kubeMetrics, leadershipState } = context;
  const { reports, scheduler, console } = listeners;
  const election = joinElection({
    config,
    environment,
    leaderUrl: advertisedUrl(config, environment, reports?.address),
    consoleUrl: consoleUrl(environment, console),
    schedulerUrl: scheduler ? urlOf(config.schedulerTls, environment.podIp, scheduler) : '',
    onStartedLeading: () => void lead(context, replica, listeners),
    onHistoryWentBack: () => replica.watches.relist(0),
    onStandby: (leader) => {
      leadershipState.standBy(leader);
      replica.subscribers.restart();
    },
    connect,
    uniqueName,
    clock,
    random,
    logger,
    metrics: kubeMetrics,
  });
  leadershipState.joined(election);
  return election;
}

/** What was listed so shortly before a term begins, as at the start of the program, is not listed twice. */
const FRESH_LIST_MS = 10_000;

/** A term begins: everything that belongs to one is made anew. It decides once nothing that is watched may be old. */
async function lead(context: ReplicaContext, replica: Replica, { tls }: Listeners): Promise<void> {
  const { config, client, requests, keys, leadershipState, clock, logger } = context;
  const { controller, scheduling, fleet, watches } = replica;
  const term = leadershipState.begin();
  const { signal } = term;
  controller.beginTerm();
  scheduling?.beginTerm();
  tls?.lead();
  // Writes of the last term may still take effect, and hold no place in the budgets of this one.
  await requests.settled();
  if (signal.aborted) return;
  watches.relist(FRESH_LIST_MS);
  await until(() => watches.current(), clock, signal);
  if (signal.aborted || !leadershipState.leads()) return;
  replica.owners.changed();
  term.decide();
  fleet.markAll();
  if (keys.needsWholeNodes) return;
  await findStrayTaints({ client, fleet, keys, dryRun: config.dryRun, clock, logger, signal });
}

/** Starts the loops that run until the program stops. */
function run(
  { leadershipState, clock, logger, signal }: ReplicaContext,
  replica: Replica,
  { tls, beat }: Listeners,
): void {
  void replica.watches.run();
  void replica.rules?.run(signal, () => replica.owners.rulesChanged());
  void tls?.run();
  every(clock, TICK_MS, signal, () => {
    const isDone = guarded(logger, 'tick', () => {
      if (leadershipState.mayDecide()) replica.tick();
      replica.followCa();
      replica.news.tick();
    });
    // Where each tick fails, /healthz asks for a restart.
    if (isDone) beat();
  });
}
