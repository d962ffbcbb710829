import { FakeClock } from '@rollcall/common/testing/fake-clock.ts';
import type { HoldingPod } from './holding-pod.ts';
import { Holds } from './holds.ts';
import type { ObservedNodeHold } from './node-hold.ts';

/** A NodeHold for the pods with `hold: NAME` in the namespace `ci`, or one that is different in something. */
export function nodeHold(name: string, change: Partial<ObservedNodeHold> = {}): ObservedNodeHold {
  return {
    uid: `uid-${name}`,
    name,
    generation: 1,
    pods: { namespace: 'ci', selector: { matchLabels: { hold: name } } },
    problem: undefined,
    status: undefined,
    ...change,
  };
}

/** A pod on a node that this NodeHold names, or one that is different in something. */
export function heldPod(name: string, node: string, hold: string, change: Partial<HoldingPod> = {}): HoldingPod {
  return { uid: `uid-${name}`, namespace: 'ci', name, labels: { hold }, node, ...change };
}

/** Holds of which nothing is known, and what they tell. */
export function toldHolds() {
  const clock = new FakeClock();
  const news: string[] = [];
  const holds = new Holds(clock);
  holds.onChange({
    nodeChanged: (node) => news.push(node),
    known: () => news.push('known'),
    changed: () => news.push('change'),
  });
  const told = () => news.splice(0);
  return { clock, holds, told };
}
