import { notReadyTaint, readyLabel } from '@rollcall/common/well-known.ts';
import type { ReadinessGate } from '@rollcall/coordinator/decide/labelers/readiness.ts';
import type { Node } from '@rollcall/coordinator/kube/objects.ts';
import { SERVICE_NAMES } from './truth.ts';
import { ANY, type Want } from './want.ts';

/** Which order a write of rollcall broke, if any. `wantsOfLate`: what was wanted of a key within the last moments. */
export function orderBroken(
  gate: ReadinessGate,
  before: Node,
  after: Node,
  wantsOfLate: (id: string) => readonly Want[],
): string | undefined {
  for (const service of SERVICE_NAMES) {
    const [label, taint] = [readyLabel(service, 'default'), notReadyTaint(service)];
    const taintIsOff = wantsOfLate(`taint:${taint}`);
    const tainted = before.spec?.taints?.some(({ key }) => key === taint) === true;
    const isSet = before.metadata.labels?.[label] !== 'true' && after.metadata.labels?.[label] === 'true';
    const mayBeReady = taintIsOff.includes(undefined) || taintIsOff.includes(ANY);
    if (gate === 'taint' && isSet && !tainted && !mayBeReady) return `${label} was set before the taint ${taint}`;
    const isTaken = before.metadata.labels?.[label] === 'true' && after.metadata.labels?.[label] === undefined;
    const others = Object.entries(after.metadata.labels ?? {}).some(
      ([key, value]) => before.metadata.labels?.[key] !== value,
    );
    if (isTaken && others) return `${label} was taken together with a set, not before it`;
  }
  return undefined;
}
