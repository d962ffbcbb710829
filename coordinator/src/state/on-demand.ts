import type { ObservedNodeFeature } from './node-features.ts';
import { OnDemandObjects } from './on-demand-objects.ts';
import type { ObservedResourceSlice } from './resource-slices.ts';

/** Objects of a node that are watched only while a rule asks for them; `undefined` while they are not known. */
export type OnDemandOnNode = {
  slices: readonly ObservedResourceSlice[] | undefined;
  nodeFeatures: readonly ObservedNodeFeature[] | undefined;
};

/** All that is watched only while a rule asks for it. */
export class OnDemand {
  readonly slices: OnDemandObjects<ObservedResourceSlice>;
  readonly nodeFeatures: OnDemandObjects<ObservedNodeFeature>;

  /** `onKnown`: whether some of it is known is other than before. */
  constructor(onChange: (node: string) => void, onKnown: () => void) {
    this.slices = new OnDemandObjects(onChange, onKnown);
    this.nodeFeatures = new OnDemandObjects(onChange, onKnown);
  }

  on(node: string): OnDemandOnNode {
    return { slices: this.slices.on(node), nodeFeatures: this.nodeFeatures.on(node) };
  }
}
