import { AskedObjects } from './asked-objects.ts';
import type { ObservedNodeFeature } from './node-features.ts';
import type { ObservedResourceSlice } from './resource-slices.ts';

/** What tells of a node only while a rule asks for it; `undefined` while it is not known. */
export type AskedOn = {
  slices: readonly ObservedResourceSlice[] | undefined;
  nodeFeatures: readonly ObservedNodeFeature[] | undefined;
};

/** All that is watched only while a rule asks for it. */
export class Asked {
  readonly slices: AskedObjects<ObservedResourceSlice>;
  readonly nodeFeatures: AskedObjects<ObservedNodeFeature>;

  /** `onKnown`: whether some of it is known is other than before. */
  constructor(onChange: (node: string) => void, onKnown: () => void) {
    this.slices = new AskedObjects(onChange, onKnown);
    this.nodeFeatures = new AskedObjects(onChange, onKnown);
  }

  on(node: string): AskedOn {
    return { slices: this.slices.on(node), nodeFeatures: this.nodeFeatures.on(node) };
  }
}
