import type { Service } from '../../model/services.ts';
import { wireProbe } from '../../model/wire-probe.ts';

/** The most that the name's field, target and addresses of pods add to a service: 16 addresses of 45 characters. */
const ADDRESSES_BYTES = 1024;
/** The key of a CA bundle, and what separates it from the next. */
const BUNDLE_KEY_BYTES = 70;

/** How much of the list of services for the agents is left, on a node that every service is for. */
export class ListBudget {
  readonly #bundles = new Set<string>();
  #bytesLeft: number;

  constructor(bytesMax: number) {
    this.#bytesLeft = bytesMax;
  }

  get bytesLeft(): number {
    return this.#bytesLeft;
  }

  /** What a service would add to the list; a CA bundle that another has brought adds nothing. */
  bytesOf({ name, probe }: Service): number {
    if (!probe) return 0;
    const { bytes, caBundle } = wireProbe(probe);
    const bundle = caBundle && !this.#bundles.has(caBundle.key) ? caBundle.bytes + BUNDLE_KEY_BYTES : 0;
    return name.length + bytes + ADDRESSES_BYTES + bundle;
  }

  take(service: Service): void {
    this.#bytesLeft -= this.bytesOf(service);
    const bundle = service.probe && wireProbe(service.probe).caBundle;
    if (bundle) this.#bundles.add(bundle.key);
  }
}
