import { parseRuleFile } from '@rollcall/coordinator/decide/rules/parse-rule-file.ts';
import type { Rule } from '@rollcall/coordinator/decide/rules/rule-graph.ts';
import { RuleSet } from '@rollcall/coordinator/decide/rules/rule-set.ts';
import { labelOf } from './node-services.ts';

export const DEVICE_LABEL = 'feature.node.kubernetes.io/usb-fe_1a6e_089a.present';
/** Of the same device, and NFD knows nothing of it. */
export const IDENTITY_LABEL = 'device.rollcall.dev/edgetpu';
export const COUNT_LABEL = `${IDENTITY_LABEL}.count`;
export const IMPLIED_LABEL = 'accelerators/edgetpu';
export const CORAL_LABEL = 'example.com/coral';

export const POOL_KEYS = ['pool.example/tier', 'pool.example/zone'] as const;

/** A rule by the label of the device, and one by the ids that agents report. */
const BY_LABEL = ruleOf(IMPLIED_LABEL, `${DEVICE_LABEL}\n${CORAL_LABEL}`);
const BY_ID = ruleOf(IMPLIED_LABEL, `usb:1a6e:089a >= 1 && pci:15b3:101e@0200\n${CORAL_LABEL}`);

/** The label of a NodeService that a rule wants, too, and the one that a pool wants. */
export const SHARED = { byRule: labelOf('x'), byPool: labelOf('y') } as const;
const SHARING = ruleOf(SHARED.byRule, CORAL_LABEL);

/** `areShared`: a rule wants the label of a NodeService, too. */
export function rulesOf({ areShared, byId }: { areShared: boolean; byId: boolean }): RuleSet {
  return new RuleSet([byId ? BY_ID : BY_LABEL, ...(areShared ? [SHARING] : [])]);
}

/** Whether the rule of the device asks for ids, and not for NFD's label. */
export function areById(rules: RuleSet): boolean {
  return rules.labels.get(IMPLIED_LABEL)?.startsWith('usb:') === true;
}

export const NO_RULES = new RuleSet([]);

function ruleOf(label: string, content: string): Rule {
  return { label, file: label, conditions: parseRuleFile(content).conditions };
}
