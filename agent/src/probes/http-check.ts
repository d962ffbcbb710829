import type { HttpSettings } from '@rollcall/common/checks/kinds/http.ts';
import type { ProbeAnswer } from './probe.ts';

export function judgeStatus(status: number, { expectedStatuses = ['200'] }: HttpSettings): ProbeAnswer {
  const isExpected = expectedStatuses.some((each) => {
    const [from = '', to = from] = each.split('-');
    return status >= Number(from) && status <= Number(to);
  });
  if (isExpected) return { healthy: true, says: `answered ${status} as expected` };
  return { healthy: false, says: `answered ${status}, ${expectedStatuses.join(' or ')} was expected` };
}
