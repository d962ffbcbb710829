import { readTarget } from '@rollcall/common/request-target.ts';

/**
 * Builds the URL of the same path and query at the leader. Returns `undefined` if the leader's address or the target
 * cannot be used, so that no request reaches another origin.
 */
export function leaderTarget(leaderUrl: string, target: string | undefined): URL | undefined {
  const leader = URL.parse(leaderUrl);
  const asked = readTarget(target);
  if (!leader || !asked || (leader.protocol !== 'http:' && leader.protocol !== 'https:')) return undefined;
  const url = new URL(leader.origin);
  url.pathname = asked.pathname;
  url.search = asked.search;
  return url.origin === leader.origin ? url : undefined;
}
