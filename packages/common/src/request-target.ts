/** Stands for the replica itself: only path and query of a request target count. */
const ANY_ORIGIN = 'http://localhost';

/**
 * Reads path and query of a request target in origin form (`/path?query`) or absolute form (`http://host/path?query`).
 * The host of the absolute form has no effect. Returns `undefined` for any other form.
 */
export function readTarget(target: string | undefined): URL | undefined {
  if (target === undefined) return undefined;
  const isOriginForm = target.startsWith('/');
  if (!isOriginForm && !/^https?:\/\//i.test(target)) return undefined;
  // Concatenated, because `//host/path` resolved against a URL would replace its host.
  return URL.parse(isOriginForm ? `${ANY_ORIGIN}${target}` : target) ?? undefined;
}
