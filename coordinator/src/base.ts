import { randomUUID } from 'node:crypto';
import { type Clock, sleep, systemClock } from '@rollcall/common/clock.ts';
import type { Lifecycle } from '@rollcall/common/lifecycle.ts';
import type { Logger } from '@rollcall/common/logging.ts';
import { createRegistry } from '@rollcall/common/metrics.ts';
import { VERSION } from '@rollcall/common/version.ts';
import type { ApiAccess } from './kube/api-access.ts';
import { ApiContact } from './kube/api-contact.ts';
import type { KubeClient } from './kube/client.ts';
import { createKubeClient, type KubeClientOptions } from './kube/https-client.ts';
import { createKubeMetrics, type KubeMetrics } from './kube/kube-metrics.ts';
import type { CoordinatorConfig, CoordinatorEnvironment } from './setup/config.ts';
import { KeyRegistry } from './setup/keys/key-registry.ts';
import { Standing } from './term/standing.ts';

export type Setup = { config: CoordinatorConfig; environment: CoordinatorEnvironment; access: ApiAccess };

/** What a replica has of the world around it: time, chance, and the way to the API server. */
export type Means = {
  clock: Clock;
  /** A number in [0, 1). */
  random: () => number;
  /** A text that no other replica has, at no start. */
  uniqueName: () => string;
  /** A client with connections of its own. */
  connect: (options: KubeClientOptions) => KubeClient;
};

export function realMeans(access: ApiAccess): Means {
  const connect = (options: KubeClientOptions) => createKubeClient(access, options);
  return { clock: systemClock, random: Math.random, uniqueName: randomUUID, connect };
}

/** What nearly every part of a replica needs. */
export type Base = ReturnType<typeof createBase>;

const POLL_MS = 20;

export function createBase(setup: Setup, logger: Logger, { signal }: Lifecycle, means: Means) {
  const { clock } = means;
  const registry = createRegistry('rollcall_coordinator');
  const contact = new ApiContact(clock);
  const metrics = createKubeMetrics(registry);
  const answered: KubeMetrics['answered'] = (verb, code) => {
    metrics.answered(verb, code);
    contact.answered(code);
  };
  const kubeMetrics = { ...metrics, answered };
  const client = kubeClient(means, kubeMetrics, logger);
  const standing = new Standing(signal);
  const { fence } = standing;
  const keys = new KeyRegistry(setup.config);
  return { ...setup, ...means, keys, client, contact, standing, fence, signal, logger, registry, kubeMetrics };
}

/** A client with connections of its own. */
export function kubeClient({ connect, clock }: Means, metrics: KubeMetrics, logger: Logger): KubeClient {
  return connect({
    userAgent: `rollcall-coordinator/${VERSION}`,
    // The writer has at most 64 + 64 requests under way, and TokenReviews 32.
    maxSockets: 192,
    clock,
    onAnswer: metrics.answered,
    onWarning: (warning, path) => logger.warn({ warning, path }, 'The API server warned'),
  });
}

/** Waits until something is so, or the signal aborts. */
export async function until(isSo: () => boolean, clock: Clock, signal: AbortSignal): Promise<void> {
  while (!signal.aborted && !isSo()) await sleep(clock, POLL_MS, signal);
}
