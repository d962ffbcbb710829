import { keysOfSelector } from '../../model/label-selector.ts';
import type { Service } from '../../model/services.ts';
import type { Refusal } from './acceptance.ts';

type Given = Pick<Service, 'name' | 'nodeSelector' | 'publish'>;

/** Returns the labels that rules derive from these. */
type ImpliedBy = (labels: readonly string[]) => ReadonlySet<string>;

const NO_LABELS: ReadonlySet<string> = new Set();

/**
 * Finds services whose nodes would be selected by what services say of nodes: such a service could keep itself ready.
 * A service is compared with those that were added before, and never the other way round.
 */
export class Circles {
  readonly #impliedBy: ImpliedBy;
  /** Names of services by the labels that they publish. */
  readonly #owners = new Map<string, string>();
  /** Labels that rules derive from published labels. */
  readonly #implied = new Set<string>();
  /** Names of services by the labels that select their nodes. */
  readonly #selectors = new Map<string, string>();

  constructor(impliedBy: ImpliedBy) {
    this.#impliedBy = impliedBy;
  }

  add({ name, nodeSelector, publish: { label } }: Given): void {
    for (const key of keysOfSelector(nodeSelector)) if (!this.#selectors.has(key)) this.#selectors.set(key, name);
    if (label === undefined) return;
    this.#owners.set(label, name);
    for (const key of this.#impliedBy([label])) this.#implied.add(key);
  }

  /** Returns why a service would close a circle, or `undefined`. */
  refusal({ name, nodeSelector, publish: { label } }: Given): Refusal | undefined {
    const implied = label === undefined ? NO_LABELS : this.#impliedBy([label]);
    for (const key of keysOfSelector(nodeSelector)) {
      const owner = key === label ? name : this.#owners.get(key);
      if (owner !== undefined) return selectsBy(key, `is the label of ${owner}`);
      if (implied.has(key) || this.#implied.has(key))
        return selectsBy(key, 'a rule derives from the label of a service');
    }
    if (label === undefined) return undefined;
    for (const key of [label, ...implied]) {
      const older = this.#selectors.get(key);
      if (older === undefined) continue;
      const derived = key === label ? '' : `, which a rule derives from ${label}`;
      const message = `The nodeSelector of ${older}, which is older, names ${key}${derived}: choose another label`;
      return { reason: 'LabelSelectsNodes', message };
    }
    return undefined;
  }
}

function selectsBy(key: string, what: string): Refusal {
  return { reason: 'SelectsByService', message: `nodeSelector names ${key}, which ${what}` };
}
