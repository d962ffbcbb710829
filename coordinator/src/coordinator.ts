import { every } from '@rollcall/common/clock.ts';
import { guarded } from '@rollcall/common/guarded.ts';
import type { Lifecycle } from '@rollcall/common/lifecycle.ts';
import type { Logger } from '@rollcall/common/logging.ts';
import { VERSION } from '@rollcall/common/version.ts';
import { type Base, createBase, type Setup, until } from './base.ts';
import { findStrayTaints } from './decide/stray-taints.ts';
import { createHeart, type Heart } from './heart.ts';
import { type Means, realMeans } from './kube/means.ts';
import { type Listeners, openListeners } from './listeners.ts';
import { advertisedUrl, consoleUrl, urlOf } from './setup/urls.ts';
import { joinElection } from './term/election.ts';

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
  const heart = await createHeart(base);
  const listeners = await open(base, heart, life);
  const election = join(base, heart, listeners);
  life.onStop('election', () => election.release(heart.settled()));
  life.onStop('writes', () => heart.reconciler.stop());

  run(base, heart, listeners);
  const { config, clock, signal } = base;
  const { readinessGate: gate, dryRun } = config;
  logger.info({ version: VERSION, ...listeners.addresses, gate, dryRun }, 'Started');
  await until(() => heart.watches.unsynced().length === 0, clock, signal);
  if (signal.aborted) return;
  logger.info({ nodes: heart.fleet.nodeNames().length }, 'Listed everything');
  void election.run();
}

/** Prepares the part of this replica in the election. */
function join(base: Base, heart: Heart, listeners: Listeners) {
  const { config, environment, standing } = base;
  const { reports, scheduler, console } = listeners;
  const election = joinElection({
    ...base,
    metrics: base.kubeMetrics,
    leaderUrl: advertisedUrl(config, environment, reports?.address),
    consoleUrl: consoleUrl(environment, console),
    schedulerUrl: scheduler ? urlOf(config.schedulerTls, environment.podIp, scheduler) : '',
    onStartedLeading: () => void lead(base, heart, listeners),
    onStandby: (leader) => {
      standing.standBy(leader);
      heart.followers.followUps.restart();
    },
  });
  standing.joined(election);
  return election;
}

/** A term begins: everything that belongs to one is made anew. It decides once nothing that is watched may be old. */
async function lead(base: Base, heart: Heart, { tls }: Listeners): Promise<void> {
  const { config, keys, standing, clock } = base;
  const { decider, scheduling, fleet, watches } = heart;
  const term = standing.begin();
  const { signal } = term;
  decider.beginTerm();
  scheduling.beginTerm();
  tls?.lead();
  watches.relistAsked();
  await until(() => watches.current(), clock, signal);
  if (signal.aborted || !standing.leads()) return;
  term.decide();
  fleet.markAll();
  if (!keys.needsWholeNodes) await findStrayTaints({ ...config, ...base, ...heart, signal });
}

/** What goes on until the program stops. */
function run({ standing, clock, logger, signal }: Base, heart: Heart, { tls, beat }: Listeners): void {
  void heart.watches.run();
  void heart.rules?.run(signal, heart.rulesChanged);
  void tls?.run();
  every(clock, TICK_MS, signal, () => {
    const isDone = guarded(logger, 'tick', () => {
      if (standing.mayDecide()) heart.tick();
      heart.news.tick();
    });
    // Where each tick fails, /healthz asks for a restart.
    if (isDone) beat();
  });
}
