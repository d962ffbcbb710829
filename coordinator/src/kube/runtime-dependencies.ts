import { randomUUID } from 'node:crypto';
import { type Clock, systemClock } from '@rollcall/common/clock.ts';
import type { ApiAccess } from './api-access.ts';
import type { KubeClient } from './client.ts';
import { createKubeClient, type KubeClientOptions } from './https-client.ts';

/** Injected dependencies: clock, randomness, API client. */
export type RuntimeDependencies = {
  clock: Clock;
  /** A number in [0, 1). */
  random: () => number;
  /** Returns a text that is unique among replicas and starts. */
  uniqueName: () => string;
  /** A client with connections of its own. */
  connect: (options: KubeClientOptions) => KubeClient;
};

export function realDependencies(access: ApiAccess): RuntimeDependencies {
  const connect = (options: KubeClientOptions) => createKubeClient(access, options);
  return { clock: systemClock, random: Math.random, uniqueName: randomUUID, connect };
}
