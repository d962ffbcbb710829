import { isClearText } from '@rollcall/common/loopback.ts';

/**
 * Says what is wrong with a list of coordinator addresses, or nothing. A token goes to each of them, therefore TLS is
 * asked for everywhere but on this very machine.
 */
export function checkCoordinatorUrls(urls: readonly string[]): string | undefined {
  if (urls.length === 0) return 'must be one URL or several, separated by commas';
  for (const text of urls) {
    const problem = problemOf(text);
    if (problem !== undefined) return `${problem}, got "${withoutUserInfo(text)}"`;
  }
  return undefined;
}

/** A password that was put there by mistake has no business in a log. */
function withoutUserInfo(text: string): string {
  return text.replace(/\/\/.*@/s, '//***@');
}

function problemOf(text: string): string | undefined {
  const url = URL.parse(text);
  if (!url || (url.protocol !== 'https:' && url.protocol !== 'http:')) return 'must be https://HOST:PORT';
  if (url.username !== '' || url.password !== '') return 'must not contain a user name or a password';
  if (url.pathname !== '/' || url.search !== '' || url.hash !== '') return 'must end after the port';
  if (isClearText(url)) {
    return 'must be https://, since http:// would send the token in the clear (it is for loopback addresses only)';
  }
  return undefined;
}

/** Returns the origin of a URL: `https://host:port`. */
export function originOf(url: string): string {
  return new URL(url).origin;
}

/**
 * The origin that a `Location` header names, as seen from `origin`; `undefined` when a token must not follow there.
 * Only the origin counts: the path of reports is the same everywhere.
 */
export function redirectOrigin(location: string | undefined, origin: string): string | undefined {
  if (location === undefined) return undefined;
  const target = URL.parse(location, origin);
  if (!target || target.protocol !== new URL(origin).protocol) return undefined;
  return problemOf(target.origin) === undefined ? target.origin : undefined;
}
