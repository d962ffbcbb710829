import { notReadyTaint, readyLabel } from '@rollcall/common/well-known.ts';
import type { Node } from '@rollcall/coordinator/kube/objects.ts';
import type { ReadinessGate } from '@rollcall/coordinator/model/services.ts';
import { SERVICE_NAMES } from './truth.ts';
import { ANY, HOLD, type Want } from './want.ts';

/** What was wanted of a key within the last moments, and whether it had a value that another client changed since. */
type OfLate = {
  wantsOfLate: (id: string) => readonly Want[];
  wasLately: (id: string, value: string | undefined) => boolean;
};

/** Which order a write of rollcall broke, if any. */
export function orderBroken(
  gate: ReadinessGate,
  before: Node,
  after: Node,
  { wantsOfLate, wasLately }: OfLate,
): string | undefined {
  for (const service of SERVICE_NAMES) {
    const [label, taint] = [readyLabel(service, 'default'), notReadyTaint(service)];
    const taintIsOff = wantsOfLate(`taint:${taint}`);
    const tainted = before.spec?.taints?.some(({ key }) => key === taint) === true;
    const isSet = before.metadata.labels?.[label] !== 'true' && after.metadata.labels?.[label] === 'true';
    const mayBeReady = taintIsOff.includes(undefined) || taintIsOff.includes(ANY);
    // An apply names a label that is kept as the watch told about it last.
    const isKept = wantsOfLate(`label:${label}`).includes(HOLD) && wasLately(`label:${label}`, 'true');
    // A person removed the taint a moment ago.
    const isStripped = wasLately(`taint:${taint}`, 'true:NoSchedule');
    if (gate === 'taint' && isSet && !tainted && !mayBeReady && !isKept && !isStripped)
      return `${label} was set before the taint ${taint}`;
    const isTaken = before.metadata.labels?.[label] === 'true' && after.metadata.labels?.[label] === undefined;
    const others = Object.entries(after.metadata.labels ?? {}).some(
      ([key, value]) => before.metadata.labels?.[key] !== value,
    );
    if (isTaken && others) return `${label} was taken together with a set, not before it`;
  }
  return undefined;
}
