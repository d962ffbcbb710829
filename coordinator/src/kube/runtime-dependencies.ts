import { randomUUID } from 'node:crypto';
import { type Clock, systemClock } from '@rollcall/common/clock.ts';
import type { ApiAccess } from './api-access.ts';
import type { KubeClient } from './client.ts';
import { createKubeClient, type KubeClientOptions } from './https-client.ts';

/** What a replica has of the world around it: time, chance, and the way to the API server. */
export type RuntimeDependencies = {
  clock: Clock;
  /** A number in [0, 1). */
  random: () => number;
  /** A text that no other replica has, at no start. */
  uniqueName: () => string;
  /** A client with connections of its own. */
  connect: (options: KubeClientOptions) => KubeClient;
};

export function realDependencies(access: ApiAccess): RuntimeDependencies {
  const connect = (options: KubeClientOptions) => createKubeClient(access, options);
  return { clock: systemClock, random: Math.random, uniqueName: randomUUID, connect };
}
