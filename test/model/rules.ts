import { parseRuleFile } from '@rollcall/coordinator/decide/rules/parse-rule-file.ts';
import { RuleSet } from '@rollcall/coordinator/decide/rules/rule-set.ts';

export const DEVICE_LABEL = 'feature.node.kubernetes.io/usb-fe_1a6e_089a.present';
/** Of the same device, and NFD knows nothing of it. */
export const IDENTITY_LABEL = 'device.rollcall.dev/edgetpu';
export const COUNT_LABEL = `${IDENTITY_LABEL}.count`;
export const IMPLIED_LABEL = 'accelerators/edgetpu';
export const CORAL_LABEL = 'example.com/coral';

export const POOL_KEYS = ['pool.example/tier', 'pool.example/zone'] as const;

export const RULES = new RuleSet([
  {
    label: IMPLIED_LABEL,
    file: IMPLIED_LABEL,
    conditions: parseRuleFile(`${DEVICE_LABEL}\n${CORAL_LABEL}`).conditions,
  },
]);
export const NO_RULES = new RuleSet([]);
