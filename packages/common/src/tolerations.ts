/** `timeAdded`: RFC 3339. */
export type Taint = { key: string; value?: string; effect: string; timeAdded?: string };

export type Toleration = { key?: string; operator?: string; value?: string; effect?: string };

/** Whether one of these tolerates a taint, as Kubernetes decides. */
export function tolerates(tolerations: readonly Toleration[], taint: Taint): boolean {
  return tolerations.some((each) => toleratesBy(each, taint));
}

/** `Lt` and `Gt` are those of Kubernetes 1.35 and newer: an API server on which they are switched off refuses them. */
function toleratesBy({ key = '', operator = 'Equal', value = '', effect = '' }: Toleration, taint: Taint): boolean {
  const has = taint.value ?? '';
  if (effect !== '' && effect !== taint.effect) return false;
  if (key === '') return operator === 'Exists';
  if (key !== taint.key) return false;
  if (operator === 'Exists') return true;
  if (operator !== 'Lt' && operator !== 'Gt') return value === has;
  const [left, right] = [parseInt64(has), parseInt64(value)];
  if (left === undefined || right === undefined) return false;
  return operator === 'Lt' ? left < right : left > right;
}

const INT64_MIN = -(2n ** 63n);
const INT64_MAX = 2n ** 63n - 1n;

/** As Go's `strconv.ParseInt(text, 10, 64)` takes it; a number of JavaScript is not exact so far out. */
export function parseInt64(text: string): bigint | undefined {
  if (!/^[+-]?[0-9]+$/.test(text)) return undefined;
  const value = BigInt(text);
  return value < INT64_MIN || value > INT64_MAX ? undefined : value;
}
