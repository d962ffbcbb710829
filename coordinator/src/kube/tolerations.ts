import { parseInt64 } from './node-affinity.ts';
import type { Taint, Toleration } from './objects.ts';

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
