import type { Toleration } from '../../kube/objects.ts';
import type { ServiceTaint } from '../../model/services.ts';

/** Whether one of these tolerates a taint, as kube-scheduler sees it. */
export function tolerates(tolerations: readonly Toleration[], taint: ServiceTaint): boolean {
  return tolerations.some(({ key = '', operator = 'Equal', value = '', effect = '' }) => {
    if (effect !== '' && effect !== taint.effect) return false;
    if (key === '') return operator === 'Exists';
    return key === taint.key && (operator === 'Exists' || value === taint.value);
  });
}
