import { IMPLIED_LABELS_ANNOTATION } from '@rollcall/common/well-known.ts';
import type { Inventory } from '../../inventory/inventory.ts';
import type { KeyRegistry } from '../../setup/keys/key-registry.ts';
import type { Claim, Consequence, JudgedNode, LabelWishes } from './labeler.ts';
import { labelsAfter } from './labels-after.ts';
import { formatManagedLabels, parseManagedLabels } from './managed-labels.ts';
import { ownNote } from './own-note.ts';
import { theirLabel } from './their-label.ts';

/** What the rules say, given the labels of a node and what else it has. */
export type Rules = {
  /** Every label that some rule gives. */
  labels: ReadonlySet<string>;
  /** What agents have to be asked for them. */
  questions: readonly string[];
  evaluate(
    labels: Readonly<Record<string, string>>,
    inventory: Inventory,
  ): {
    /** Labels that are implied, each with its value and the reason. */
    implied: ReadonlyMap<string, { value: string; reason: string }>;
    /** Labels of which nobody can tell, each with the reason. */
    unknown: ReadonlyMap<string, string>;
  };
};

const LIST = IMPLIED_LABELS_ANNOTATION;

/**
 * Labels that the rules imply. An annotation lists those that are ours: they are restored when somebody changes them,
 * and go when no rule holds any more, also where the rule went while nobody was running. A label of the same key that
 * was there before is somebody else's, and stays as it is; so does one that another labeler speaks for, or would, were
 * it not for a reason of its own to withhold it.
 */
export function impliedLabels(rules: () => Rules, keys: KeyRegistry): Consequence {
  return {
    name: 'implied-labels',
    claims: (node, wishes) => {
      const all = rules();
      const text = node.annotations[LIST];
      // Where the list was deleted, or garbled, there is only what rollcall applied to go by.
      const known = text === undefined ? undefined : parseManagedLabels(text);
      const listed = known ?? NO_KEYS;
      const { implied, unknown } = all.evaluate(groundsOf(node, wishes, listed, all), node.inventory);
      const isOurs = (key: string) => listed.has(key) || node.ownedLabels.has(key);
      const isOthers = (key: string) =>
        keys.entryOf('label', key) !== undefined || (wishes.has(key) && wishes.get(key)?.stance !== 'withhold');
      const claims: Claim[] = [];
      // Whose it is can be told when whoever holds it knows.
      const keep = [...listed].filter((key) => wishes.get(key)?.stance === 'hold');
      for (const [key, { value, reason }] of implied) {
        if (isOthers(key)) continue;
        const there = node.labels[key];
        const isFree = there === undefined || isOurs(key);
        if (isFree) keep.push(key);
        claims.push(isFree ? wish(key, value, reason) : theirLabel(key, value, there));
      }
      const left = known ?? [...unknown.keys()].filter((key) => node.ownedLabels.has(key) && !wishes.has(key));
      for (const key of left) {
        if (implied.has(key) || isOthers(key)) continue;
        const doubt = unknown.get(key);
        if (doubt !== undefined) keep.push(key);
        claims.push(doubt === undefined ? farewell(key, node.labels[key] ?? 'true', all) : hold(key, doubt, node));
      }
      return [...claims, ...list(keep, node)];
    },
  };
}

const NO_KEYS: ReadonlySet<string> = new Set();

/**
 * Labels that rules may go by. Those that rules brought do not count, or two rules would hold up each other for ever.
 * One that is listed, and that no rule gives any more, stays only where somebody else has made it theirs: it counts.
 */
function groundsOf(
  node: JudgedNode,
  wishes: LabelWishes,
  listed: ReadonlySet<string>,
  rules: Pick<Rules, 'labels'>,
): Record<string, string> {
  const grounds = labelsAfter(node, wishes);
  for (const key of listed) {
    if (rules.labels.has(key) && !node.sharedLabels.has(key) && !wishes.has(key)) delete grounds[key];
  }
  return grounds;
}

/** With force, as it may have been changed by hand; released rather than removed, as others may have applied it too. */
function wish(key: string, value: string, reason: string): Claim {
  return { kind: 'label', key, value, stance: 'want', ownership: 'forced', reason };
}

function hold(key: string, reason: string, { labels }: JudgedNode): Claim {
  return { kind: 'label', key, value: labels[key] ?? '', stance: 'hold', ownership: 'forced', reason };
}

/** Where there still is a rule, it went by what the node is. */
function farewell(key: string, value: string, { labels }: Pick<Rules, 'labels'>): Claim {
  const reason = 'no rule implies it any more';
  const claim = { kind: 'label', key, value, stance: 'withhold', ownership: 'forced', reason } as const;
  return labels.has(key) ? claim : { ...claim, configuredBy: ruleOf(key) };
}

/** What a label of a rule goes by, whether it is there or not. */
export function ruleOf(key: string): string {
  return `rule ${key}`;
}

function list(keys: readonly string[], node: JudgedNode): Claim[] {
  const reason =
    keys.length > 0 ? 'lists the labels that the node has because of rules' : 'no label is there because of a rule';
  return ownNote(node, LIST, { value: keys.length > 0 ? formatManagedLabels(keys) : undefined, reason });
}
