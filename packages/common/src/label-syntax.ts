/**
 * What the API server takes as keys and values of labels and annotations (apimachinery's IsQualifiedName and
 * IsValidLabelValue). It answers a violation without naming the key, so the same rules are kept here to find it.
 */

const NAME = /^[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;
const DNS_LABELS = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*$/;
const SUBDOMAIN_LENGTH_MAX = 253;

export function isLabelKey(key: string): boolean {
  const parts = key.split('/');
  const name = parts.pop() ?? '';
  const [prefix] = parts;
  if (parts.length > 1 || !NAME.test(name)) return false;
  return prefix === undefined || (prefix.length <= SUBDOMAIN_LENGTH_MAX && DNS_LABELS.test(prefix));
}

/** Like a label's, but upper case is allowed before the slash. */
export function isAnnotationKey(key: string): boolean {
  return isLabelKey(key.toLowerCase());
}

export function isLabelValue(value: string): boolean {
  return value === '' || NAME.test(value);
}
