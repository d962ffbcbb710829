import { globMatches, isGlob } from '../model/inventory/glob.ts';
import { type Claimant, ownerOf } from '../model/keys/key-owner.ts';
import type { LabelOwner } from '../model/keys/key-registry.ts';
import { keysOfSelector } from '../model/label-selector.ts';
import type { Service } from '../model/services.ts';
import type { Fleet } from '../state/fleet.ts';
import { isOfRule } from '../state/node-keys.ts';
import type { ObservedPoolLabelSet } from '../state/pool-label-sets.ts';
import type { KeyClaims } from '../state/services/acceptance.ts';
import { poolLabelSorter, type ReservedKeys } from './labelers/pool-keys.ts';
import type { RefuseLine, RuleSet } from './rules/rule-set.ts';

export type LabelOwnersOptions = {
  fleet: Fleet;
  /** What pools may set, NodeServices and rules apart. */
  reserved: ReservedKeys;
  /** All rules of the files. */
  rules: () => RuleSet | undefined;
};

type PoolClaimant = Claimant & { kind: 'pool' };
type RuleClaimant = Claimant & { kind: 'rule' };

/**
 * Who has the labels that pools and rules want, and which lines of rules are refused because of NodeServices. What is on
 * Nodes decides, so that every leader comes to the same result.
 */
export class LabelOwners implements KeyClaims {
  readonly #options: LabelOwnersOptions;
  readonly #sorted: ReturnType<typeof poolLabelSorter>;

  constructor(options: LabelOwnersOptions) {
    this.#options = options;
    this.#sorted = poolLabelSorter(options.reserved);
  }

  isOnNodes: KeyClaims['isOnNodes'] = (kind, key, origin) =>
    this.#options.fleet.listedOrigins.has(kind, key, (each) => each === origin);

  /** Pools and rules want labels only. */
  claimantsOf: KeyClaims['claimantsOf'] = ({ kind, key }) =>
    kind === 'label' ? [this.#poolOf(key), this.#ruleOf(key)].filter((each) => each !== undefined) : [];

  /** Who has each label that a pool and a rule both want. */
  owners(): Map<string, LabelOwner> {
    const owners = new Map<string, LabelOwner>();
    for (const label of this.#options.rules()?.labels.keys() ?? []) {
      const claimants = [this.#poolOf(label), this.#ruleOf(label)].filter((each) => each !== undefined);
      const owner = claimants.length > 1 ? ownerOf(claimants) : undefined;
      if (owner) owners.set(label, { kind: owner.kind, name: owner.name });
    }
    return owners;
  }

  /** Why lines of rules are not in force, by the services that are in force and by `ownerOfLabel`, what others have. */
  refusedLines(services: readonly Service[], ownerOfLabel: (label: string) => string | undefined): RefuseLine {
    const rules = this.#options.rules();
    const published = services.flatMap(({ publish: { label } }) => label ?? []);
    const derived = rules?.dependents(published) ?? new Set<string>();
    const labels = new Set([...published, ...derived]);
    const byPattern = new Map<string, boolean>();
    const isDerived = (key: string) => {
      if (!isGlob(key)) return labels.has(key);
      const known = byPattern.get(key) ?? labels.values().some((label) => globMatches(key, label));
      byPattern.set(key, known);
      return known;
    };
    const selecting = new Map<string, string>();
    for (const { name, nodeSelector } of services)
      for (const key of keysOfSelector(nodeSelector)) if (derived.has(key)) selecting.set(key, name);
    return ({ label }, { literals }) => {
      const owner = ownerOfLabel(label);
      if (owner !== undefined) return `gives ${label}, which ${owner}`;
      const service = selecting.get(label);
      if (service === undefined) return undefined;
      const asked = literals.find(({ predicate }) => predicate.kind === 'label' && isDerived(predicate.key));
      if (asked?.predicate.kind !== 'label') return undefined;
      return `derives ${label} from ${asked.predicate.key}, a label of a service, but the nodeSelector of the NodeService ${service}, which is older, names ${label}`;
    };
  }

  #poolOf(label: string): PoolClaimant | undefined {
    const { fleet } = this.#options;
    const wants = (set: ObservedPoolLabelSet) =>
      Object.hasOwn(set.labels, label) && this.#sorted(set).accepted.has(label);
    const sets = [...fleet.poolLabelSets.all()].filter(wants);
    const isOnNodes = this.isOnNodes('label', label, 'pool');
    const claimants = sets.map(({ kind, namespace, name, createdAt }): PoolClaimant => {
      return { kind: 'pool', name: `${kind} ${namespace}/${name}`, createdAtMs: Date.parse(createdAt) || 0, isOnNodes };
    });
    return ownerOf(claimants);
  }

  #ruleOf(label: string): RuleClaimant | undefined {
    const { fleet, rules } = this.#options;
    if (!rules()?.labels.has(label)) return undefined;
    const isOnNodes = fleet.listedOrigins.has('label', label, isOfRule);
    return { kind: 'rule', name: `the rule ${label}`, createdAtMs: Number.POSITIVE_INFINITY, isOnNodes };
  }
}
