import { isLoopback } from '@rollcall/common/loopback.ts';
import type { CoordinatorConfig, CoordinatorEnvironment } from './config.ts';

/** The address that a listener is bound to. */
export type BoundAddress = { host: string; port: number };

/** Returns the URL at which agents reach this replica; empty if it takes no reports. */
export function advertisedUrl(
  config: Pick<CoordinatorConfig, 'advertiseUrl' | 'tls'>,
  { podIp }: Pick<CoordinatorEnvironment, 'podIp'>,
  bound: BoundAddress | undefined,
): string {
  if (config.advertiseUrl !== undefined) return config.advertiseUrl;
  return bound ? urlOf(config.tls, podIp, bound) : '';
}

/**
 * Returns the URL at which other replicas reach the console of this one. Empty if they cannot: no other pod reaches a
 * loopback address. Outside a pod, for example in development, replicas share the machine.
 */
export function consoleUrl({ podIp }: Pick<CoordinatorEnvironment, 'podIp'>, bound: BoundAddress | undefined): string {
  if (!bound || (isLoopback(bound.host) && podIp !== undefined)) return '';
  return urlOf('off', isLoopback(bound.host) ? undefined : podIp, bound);
}

/** Returns the URL at which other pods reach a listener. */
export function urlOf(tls: 'on' | 'off', podIp: string | undefined, bound: BoundAddress): string {
  const host = podIp ?? bound.host;
  return `${tls === 'on' ? 'https' : 'http'}://${host.includes(':') ? `[${host}]` : host}:${bound.port}`;
}

const PROBLEM = 'must be an http:// or https:// URL; without a scheme, as host:port/path, it is http://';

/**
 * An authority and what follows it. Stricter than the parser of URLs, which finds an authority where none was meant.
 */
const ADDRESS = /^(https?:\/\/)?[^\s\\/?#]*[^\s\\/?#:]([/?#][^\s\\]*)?$/i;

/**
 * Reads the address of a receiver. One without a scheme is `http://`, as k8s-node-label-monitor takes it. A problem
 * never repeats the address, which may hold a secret.
 */
export function notifyUrl(text: string): { url: URL } | { problem: string } {
  const match = ADDRESS.exec(text);
  const url = match && URL.parse(match[1] === undefined ? `http://${text}` : text);
  if (!url) return { problem: PROBLEM };
  if (url.username !== '' || url.password !== '') return { problem: 'must not contain a user name or password' };
  return { url };
}

/** Says what is wrong with a list of addresses, or nothing. */
export function checkNotifyUrls(texts: readonly string[]): string | undefined {
  for (const [index, text] of texts.entries()) {
    const parsed = notifyUrl(text);
    if ('problem' in parsed) return texts.length === 1 ? parsed.problem : `${parsed.problem}; see number ${index + 1}`;
  }
  return undefined;
}
