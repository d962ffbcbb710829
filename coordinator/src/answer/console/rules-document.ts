import type { RuleDocument, RulesDocument } from '@rollcall/common/console.ts';
import { Slices } from '@rollcall/common/slices.ts';
import type { IntentEntry } from '../../decide/intent/intent.ts';

/** The part of a rule that is shown. */
type ShownRule = {
  label: string;
  file: string;
  conditions: readonly { line: number; text: string; value: string }[] | undefined;
};

export type RulesDocumentOptions = {
  rules: readonly ShownRule[];
  problems: RulesDocument['problems'];
  nodes: readonly string[];
  /** The merged claims for a node. */
  intent: (node: string) => ReadonlyMap<string, IntentEntry> | undefined;
  /** The only label of interest. */
  label: string | undefined;
};

export const RULES_LABELER = 'implied-labels';

type Effects = Exclude<RuleDocument['nodes'], { given: number }>;

const STANCES = { present: 'given', keep: 'held', absent: 'withheld' } as const;

/**
 * The rules, what is wrong with them, and what each does to the fleet: how many nodes have its label because of it,
 * keep the label while the result is unknown, or do not get it although the rule holds; for a single label, which nodes
 * and why. `undefined` for a label that no rule gives.
 */
export async function rulesDocument({
  rules,
  problems,
  nodes,
  intent,
  label,
}: RulesDocumentOptions): Promise<RulesDocument | undefined> {
  const shown = rules.filter((rule) => label === undefined || rule.label === label);
  if (label !== undefined && shown.length === 0) return undefined;
  const effects = new Map(shown.map((rule): [string, Effects] => [rule.label, { given: [], held: [], withheld: [] }]));
  const slices = new Slices();
  for (const node of nodes) {
    await slices.pause();
    const entries = intent(node);
    for (const [key, effect] of effects) {
      const entry = entries?.get(`label:${key}`);
      if (entry?.labeler !== RULES_LABELER) continue;
      effect[STANCES[entry.stance]].push({ node, value: entry.value, reason: entry.reason });
    }
  }
  return {
    labels: rules.map((rule) => rule.label),
    problems,
    rules: shown.map((rule) => ({
      label: rule.label,
      file: rule.file,
      lines: rule.conditions?.map(({ line, text, value }) => ({ line, text, value })) ?? 'unread',
      nodes: nodesOf(effects.get(rule.label), label !== undefined),
    })),
  };
}

function nodesOf(effects: Effects = { given: [], held: [], withheld: [] }, inFull: boolean): RuleDocument['nodes'] {
  const { given, held, withheld } = effects;
  return inFull ? effects : { given: given.length, held: held.length, withheld: withheld.length };
}
