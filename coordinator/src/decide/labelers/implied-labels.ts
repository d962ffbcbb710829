import { globMatches } from '../../model/inventory/glob.ts';
import type { Inventory } from '../../model/inventory/inventory.ts';
import type { KeyRegistry } from '../../model/keys/key-registry.ts';
import type { Service } from '../../model/services.ts';
import type { Undecided } from '../../model/undecided.ts';
import { isOfRule, isOfService, keysOn, listedKey, listedOf } from '../../state/node-keys.ts';
import {
  type Claim,
  type Consequence,
  type EvaluatedNode,
  type LabelWishes,
  labelsAfter,
  theirLabel,
} from './labeler.ts';
import { undecidedByAgent } from './undecided-labels.ts';

/** Evaluates the rules for the labels and the inventory of a node. */
export type Rules = {
  /** Every label that some rule gives, with what the rule says. */
  labels: ReadonlyMap<string, string>;
  /** The questions that agents have to answer for the rules. */
  questions: readonly string[];
  /** The labels of rules that ask for one of these labels, or build on such. */
  dependents(labels: Iterable<string>): ReadonlySet<string>;
  evaluate(
    labels: Readonly<Record<string, string>>,
    inventory: Inventory,
    undecided?: Undecided,
  ): {
    /** Labels that are implied, each with its value and the reason. */
    implied: ReadonlyMap<string, { value: string; reason: string }>;
    /** Labels whose value is unknown now, each with the reason. */
    unknown: ReadonlyMap<string, string>;
  };
};

/**
 * Labels that the rules imply. The Node lists the ones that are ours: rollcall restores them when another writer
 * changes them, and removes them when no rule holds any more, even if the rule went while no coordinator ran. A label
 * of the same key that was there before belongs to another writer and stays as it is. A label also stays if another
 * labeler claims it, or withholds it for a reason of its own.
 */
export function impliedLabels(
  rules: () => Rules,
  keys: KeyRegistry,
  services: () => readonly Service[],
  factLabels: readonly string[] = [],
): Consequence {
  const ofServices = labelsOfServices(services);
  return {
    name: 'implied-labels',
    claims: (node, wishes) => {
      const all = rules();
      const listed = listedOf(node, 'label', isOfRule);
      const { implied, unknown } = all.evaluate(
        labelsToEvaluate(node, wishes, listed, all),
        node.inventory,
        undecidedOn(node, wishes, factLabels),
      );
      const isOurs = (key: string) => listed.has(key) || node.ownedLabels.has(key);
      const isOthers = (key: string) =>
        keys.refusal('rule', 'label', key) !== undefined || (wishes.has(key) && wishes.get(key)?.stance !== 'absent');
      const builtOnServices = ofServices(all, node);
      const own = (key: string) =>
        ({
          kind: 'label',
          key,
          ownership: 'forced',
          origin: builtOnServices.has(key) ? 'rule:service' : 'rule',
          object: ruleOf(key),
        }) as const;
      const claims: Claim[] = [];
      for (const [key, { value, reason }] of implied) {
        if (isOthers(key)) continue;
        const there = node.labels[key];
        // Forced, because a person may have changed it.
        if (there !== undefined && !isOurs(key)) claims.push(theirLabel(key, value, there));
        else claims.push({ ...own(key), value, stance: 'present', reason, cause: 'evidence' });
      }
      const doubtful = [...unknown.keys()].filter((key) => node.ownedLabels.has(key) && !wishes.has(key));
      for (const key of listed.union(new Set(doubtful))) {
        if (implied.has(key) || isOthers(key)) continue;
        const doubt = unknown.get(key);
        const value = node.labels[key] ?? '';
        if (doubt !== undefined) claims.push({ ...own(key), value, stance: 'keep', reason: doubt, cause: 'unknown' });
        else claims.push({ ...own(key), value, stance: 'absent', ...removalReason(key, all) });
      }
      return claims;
    },
  };
}

/** Explains, for a node, each line of the rule for a label; `undefined` if there is none. */
export type ExplainableRules = Pick<Rules, 'labels'> & {
  explain(
    label: string,
    labels: Readonly<Record<string, string>>,
    inventory: Inventory,
    undecided: Undecided,
  ): { file: string; lines: readonly JudgedLine[] } | undefined;
};

/** `found`: of the term that decides; `key`: the label that it asks for. */
type JudgedLine = { line: number; text: string; truth: 'yes' | 'no' | 'unknown'; found: string; key?: string };

/** What `explain` of a rule set needs to know of a node, as `impliedLabels` has it. `wishes`: the claims of other labelers. */
export function ruleInputsOf(
  node: EvaluatedNode,
  wishes: LabelWishes,
  rules: Pick<Rules, 'labels'>,
  factLabels: readonly string[],
): { labels: Record<string, string>; undecided: Undecided } {
  const listed = listedOf(node, 'label', isOfRule);
  return { labels: labelsToEvaluate(node, wishes, listed, rules), undecided: undecidedOn(node, wishes, factLabels) };
}

/** Labels that the node may still get: by its agent, or by a labeler that does not know yet. */
function undecidedOn(node: EvaluatedNode, wishes: LabelWishes, factLabels: readonly string[]): Undecided {
  const byAgent = undecidedByAgent(node, factLabels);
  const isKept = (key: string) => wishes.get(key)?.stance === 'keep' && node.labels[key] === undefined;
  const why = (key: string) => (isKept(key) ? 'what decides about it is unknown' : undefined);
  return {
    ...byAgent,
    label: (key, isDenied) => why(key) ?? byAgent.label(key, isDenied),
    matching: (glob, isDenied) => {
      const kept = wishes.keys().find((key) => isKept(key) && globMatches(glob, key));
      return (kept === undefined ? undefined : why(kept)) ?? byAgent.matching(glob, isDenied);
    },
  };
}

type LabelsOfServices = (rules: Rules, node: EvaluatedNode) => Pick<ReadonlySet<string>, 'has'>;

/**
 * The labels of rules that build on labels of services: of those that are in force, worked out once for the same rules and
 * services, and of those that the Node lists. Until the NodeServices are known, a label that is listed as such stays so.
 */
function labelsOfServices(services: () => readonly Service[]): LabelsOfServices {
  let known: { rules: Rules; services: readonly Service[]; published: Set<string>; labels: ReadonlySet<string> };
  return (rules, node) => {
    const all = services();
    if (known?.rules !== rules || known.services !== all) {
      const published = new Set(all.flatMap(({ publish }) => publish.label ?? []));
      known = { rules, services: all, published, labels: rules.dependents(published) };
    }
    const { published, labels } = known;
    const others = [...listedOf(node, 'label', (origin) => isOfService(origin) && !isOfRule(origin))];
    const unpublished = others.filter((label) => !published.has(label));
    const ofOthers = unpublished.length > 0 ? rules.dependents(unpublished) : undefined;
    const isListed = (key: string) => keysOn(node).get(listedKey('label', key)) === 'rule:service';
    return { has: (key) => labels.has(key) || ofOthers?.has(key) === true || (!node.servicesKnown && isListed(key)) };
  };
}

/**
 * The labels that rules may build on. Labels that rules brought do not count, or two rules would hold up each other for
 * ever. A listed label that no rule implies any more stays, and counts, only if another writer applied it as well.
 */
function labelsToEvaluate(
  node: EvaluatedNode,
  wishes: LabelWishes,
  listed: ReadonlySet<string>,
  rules: Pick<Rules, 'labels'>,
): Record<string, string> {
  const labels = labelsAfter(node, wishes);
  for (const key of listed) {
    if (rules.labels.has(key) && !node.sharedLabels.has(key) && !wishes.has(key)) delete labels[key];
  }
  return labels;
}

/** If there still is a rule, the label goes because of what the node is. */
function removalReason(key: string, { labels }: Pick<Rules, 'labels'>): Pick<Claim, 'reason' | 'cause'> {
  return { reason: 'no rule implies it any more', cause: labels.has(key) ? 'evidence' : 'configuration' };
}

/** The name of the rule of a label, whether it is there or not. */
export function ruleOf(key: string): string {
  return `rule ${key}`;
}
