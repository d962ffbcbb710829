import type { LabelOwners } from '../decide/label-owners.ts';
import type { RuleDirectory } from '../decide/rules/files/rule-directory.ts';
import type { KeyRegistry } from '../model/keys/key-registry.ts';
import type { Fleet } from '../state/fleet.ts';
import type { ServiceRegistry } from '../state/services/service-registry.ts';

export type OwnersOptions = {
  fleet: Pick<Fleet, 'listedOrigins'>;
  /** Gets the owners of labels. */
  keys: KeyRegistry;
  labelOwners: LabelOwners;
  serviceRegistry: ServiceRegistry;
  rules: RuleDirectory | undefined;
};

type Labels = ReadonlyMap<string, string>;

/** Decides anew who has which key, and which rules are in force, after claims to keys, or what is on Nodes, changed. */
export class Owners {
  readonly #options: OwnersOptions;
  /** The labels of the rules in force, as they were told last. */
  #labels: Labels;
  #listedRevision: number;
  #onRules: (before: Labels, after: Labels) => void = () => {};

  constructor(options: OwnersOptions) {
    this.#options = options;
    this.#labels = options.rules?.ruleSet.labels ?? new Map();
    this.#listedRevision = options.fleet.listedOrigins.revision;
  }

  /** From now on this listener hears when other rules are in force, by the labels that they give. */
  onRules(listener: (before: Labels, after: Labels) => void): void {
    this.#onRules = listener;
  }

  /** Pools want other labels, or Nodes list others. */
  changed(): void {
    this.#options.serviceRegistry.judge();
    this.servicesChanged();
  }

  /** Other services are in force. */
  servicesChanged(): void {
    if (this.#settle()) this.#tell();
  }

  /** The files have other rules. */
  rulesChanged(): void {
    this.#options.serviceRegistry.judge();
    this.#settle();
    this.#tell();
  }

  /** Call it once a second: what Nodes list changes with each write. */
  tick(): void {
    const { revision } = this.#options.fleet.listedOrigins;
    if (revision === this.#listedRevision) return;
    this.changed();
    this.#listedRevision = revision;
  }

  /** Takes out of force what others have. Returns whether other rules are in force than before. */
  #settle(): boolean {
    const { keys, labelOwners, serviceRegistry, rules } = this.#options;
    keys.setOwners(labelOwners.owners());
    const ownerOfLabel = (label: string) => keys.refusal('rule', 'label', label);
    return rules?.refuse(labelOwners.refusedLines(serviceRegistry.services(), ownerOfLabel)) === true;
  }

  #tell(): void {
    const before = this.#labels;
    this.#labels = this.#options.rules?.ruleSet.labels ?? before;
    this.#onRules(before, this.#labels);
  }
}
