import { parseRuleFile } from '@rollcall/coordinator/decide/rules/parse-rule-file.ts';
import { RuleSet } from '@rollcall/coordinator/decide/rules/rule-set.ts';
import { labelOf } from './node-services.ts';

export const DEVICE_LABEL = 'feature.node.kubernetes.io/usb-fe_1a6e_089a.present';
/** Of the same device, and NFD knows nothing of it. */
export const IDENTITY_LABEL = 'device.rollcall.dev/edgetpu';
export const COUNT_LABEL = `${IDENTITY_LABEL}.count`;
export const IMPLIED_LABEL = 'accelerators/edgetpu';
export const CORAL_LABEL = 'example.com/coral';

export const POOL_KEYS = ['pool.example/tier', 'pool.example/zone'] as const;

const IMPLIED = {
  label: IMPLIED_LABEL,
  file: IMPLIED_LABEL,
  conditions: parseRuleFile(`${DEVICE_LABEL}\n${CORAL_LABEL}`).conditions,
};
export const RULES = new RuleSet([IMPLIED]);

/** The label of a NodeService that a rule wants, too, and the one that a pool wants. */
export const SHARED = { byRule: labelOf('x'), byPool: labelOf('y') } as const;
export const SHARING_RULES = new RuleSet([
  IMPLIED,
  { label: SHARED.byRule, file: SHARED.byRule, conditions: parseRuleFile(CORAL_LABEL).conditions },
]);
export const NO_RULES = new RuleSet([]);
