import { every } from '@rollcall/common/clock.ts';
import { guarded } from '@rollcall/common/guarded.ts';
import type { Lifecycle } from '@rollcall/common/lifecycle.ts';
import type { Logger } from '@rollcall/common/logging.ts';
import { VERSION } from '@rollcall/common/version.ts';
import { findStrayTaints } from '../decide/stray-taints.ts';
import { type Means, realMeans } from '../kube/means.ts';
import { advertisedUrl, consoleUrl, urlOf } from '../model/urls.ts';
import { joinElection } from '../term/election.ts';
import { type Base, createBase, type Setup, until } from './base.ts';
import { type Listeners, openListeners } from './listeners.ts';
import { createReplica, type Replica } from './replica.ts';

const TICK_MS = 1000;

/** What a replica stands on: what it has of the world around it, and how it is reached. */
type Grounds = { means: Means; open: typeof openListeners };

/** Starts every part of a replica, in the order in which they need each other. */
export async function startCoordinator(
  setup: Setup,
  logger: Logger,
  life: Lifecycle,
  { means, open }: Grounds = { means: realMeans(setup.access), open: openListeners },
): Promise<void> {
  const base = createBase(setup, logger, life, means);
  const replica = await createReplica(base);
  const listeners = await open(base, replica, life);
  const election = join(base, replica, listeners);
  life.onStop('election', () => election.release(replica.settled()));
  life.onStop('writes', () => replica.writer.stop());

  run(base, replica, listeners);
  const { config, clock, signal } = base;
  const { readinessGate: gate, dryRun } = config;
  logger.info({ version: VERSION, ...listeners.addresses, gate, dryRun }, 'Started');
  await until(() => replica.watches.unsynced().length === 0, clock, signal);
  if (signal.aborted) return;
  logger.info({ nodes: replica.fleet.nodeNames().length }, 'Listed everything');
  void election.run();
}

/** Prepares the part of this replica in the election. */
function join(base: Base, replica: Replica, listeners: Listeners) {
  const { config, environment, standing } = base;
  const { reports, scheduler, console } = listeners;
  const election = joinElection({
    ...base,
    metrics: base.kubeMetrics,
    leaderUrl: advertisedUrl(config, environment, reports?.address),
    consoleUrl: consoleUrl(environment, console),
    schedulerUrl: scheduler ? urlOf(config.schedulerTls, environment.podIp, scheduler) : '',
    onStartedLeading: () => void lead(base, replica, listeners),
    onStandby: (leader) => {
      standing.standBy(leader);
      replica.followers.subscribers.restart();
    },
  });
  standing.joined(election);
  return election;
}

/** A term begins: everything that belongs to one is made anew. It decides once nothing that is watched may be old. */
async function lead(base: Base, replica: Replica, { tls }: Listeners): Promise<void> {
  const { config, keys, standing, clock } = base;
  const { controller, scheduling, fleet, watches } = replica;
  const term = standing.begin();
  const { signal } = term;
  controller.beginTerm();
  scheduling.beginTerm();
  tls?.lead();
  watches.relistAsked();
  await until(() => watches.current(), clock, signal);
  if (signal.aborted || !standing.leads()) return;
  term.decide();
  fleet.markAll();
  if (!keys.needsWholeNodes) await findStrayTaints({ ...config, ...base, ...replica, signal });
}

/** What goes on until the program stops. */
function run({ standing, clock, logger, signal }: Base, replica: Replica, { tls, beat }: Listeners): void {
  void replica.watches.run();
  void replica.rules?.run(signal, replica.rulesChanged);
  void tls?.run();
  every(clock, TICK_MS, signal, () => {
    const isDone = guarded(logger, 'tick', () => {
      if (standing.mayDecide()) replica.tick();
      replica.followCa();
      replica.news.tick();
    });
    // Where each tick fails, /healthz asks for a restart.
    if (isDone) beat();
  });
}
