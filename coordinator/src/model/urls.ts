import { isLoopback } from '@rollcall/common/loopback.ts';
import type { CoordinatorConfig, CoordinatorEnvironment } from './config.ts';

/** As bound. */
export type BoundAddress = { host: string; port: number };

/** Where agents find this replica; empty where it takes no reports, and agents are not to be sent here. */
export function advertisedUrl(
  config: Pick<CoordinatorConfig, 'advertiseUrl' | 'tls'>,
  { podIp }: Pick<CoordinatorEnvironment, 'podIp'>,
  bound: BoundAddress | undefined,
): string {
  if (config.advertiseUrl !== undefined) return config.advertiseUrl;
  return bound ? urlOf(config.tls, podIp, bound) : '';
}

/**
 * Where other replicas find the console of this one; empty where they cannot: on a loopback address, a pod is alone. What
 * is in no pod shares the machine with the others, as in development.
 */
export function consoleUrl({ podIp }: Pick<CoordinatorEnvironment, 'podIp'>, bound: BoundAddress | undefined): string {
  if (!bound || (isLoopback(bound.host) && podIp !== undefined)) return '';
  return urlOf('off', isLoopback(bound.host) ? undefined : podIp, bound);
}

/** Where other pods find a listener. */
export function urlOf(tls: 'on' | 'off', podIp: string | undefined, bound: BoundAddress): string {
  const host = podIp ?? bound.host;
  return `${tls === 'on' ? 'https' : 'http'}://${host.includes(':') ? `[${host}]` : host}:${bound.port}`;
}
