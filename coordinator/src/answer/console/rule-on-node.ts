import type { RuleOnNodeDocument } from '@rollcall/common/console.ts';
import type { Decision } from '../../decide/evaluator.ts';
import { type DeviceGrammar, leftOutBy } from '../../decide/labelers/device-grammar.ts';
import { type ExplainableRules, ruleInputsOf } from '../../decide/labelers/implied-labels.ts';
import { RULES_LABELER } from './rules-document.ts';

type Settings = { factLabels: readonly string[]; deviceGrammar: DeviceGrammar };

/** What each line of the rule for a label says of a node; `undefined` if no rule gives the label. */
export function ruleOnNode(
  label: string,
  { evaluated, intent }: Pick<Decision, 'evaluated' | 'intent'>,
  rules: ExplainableRules,
  { factLabels, deviceGrammar }: Settings,
): Omit<RuleOnNodeDocument, 'replica'> | undefined {
  const ofOthers = [...intent.values()].filter(({ kind, labeler }) => kind === 'label' && labeler !== RULES_LABELER);
  const wishes = new Map(ofOthers.map((entry) => [entry.key, entry]));
  const { labels, undecided } = ruleInputsOf(evaluated, wishes, rules, factLabels);
  const found = rules.explain(label, labels, evaluated.inventory, undecided);
  if (!found) return undefined;
  const devices = evaluated.machine?.devices ?? [];
  const lines = found.lines.map(({ key, ...line }) => {
    const left = key === undefined ? undefined : leftOutBy(key, devices, deviceGrammar);
    return { ...line, ...(left === undefined ? {} : { left }) };
  });
  return { label, node: evaluated.name, file: found.file, lines };
}
