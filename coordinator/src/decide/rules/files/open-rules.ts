import type { Clock } from '@rollcall/common/clock.ts';
import type { Logger } from '@rollcall/common/logging.ts';
import { KUBERNETES_DOMAINS, reservedDomainOf } from '@rollcall/common/reserved-domains.ts';
import type { CoordinatorConfig } from '../../../model/config.ts';
import type { KeyRegistry } from '../../../model/keys/key-registry.ts';
import { RuleDirectory } from './rule-directory.ts';

/** Reads the rules of `--label-dir`, if there is one. Throws CONFIG_INVALID when it cannot be listed. */
export async function openRules(
  config: Pick<CoordinatorConfig, 'labelDir' | 'rulesAllowedPrefixes'>,
  { keys, ...options }: { keys: KeyRegistry; clock: Clock; logger: Logger },
): Promise<RuleDirectory | undefined> {
  const { labelDir, rulesAllowedPrefixes: allowedPrefixes } = config;
  if (labelDir === undefined) return undefined;
  const refuse = (label: string) => ruleLabelProblem(label, { keys, allowedPrefixes });
  return RuleDirectory.open({ path: labelDir, refuse, ...options });
}

/**
 * Says why a rule may not create this label, or nothing. `allowedPrefixes` are what its key has to begin with; without
 * any, every label is allowed outside the domains of Kubernetes. What rollcall sets for other reasons, and what says
 * what a node is, is nothing for rules in any case.
 */
export function ruleLabelProblem(
  label: string,
  { keys, allowedPrefixes }: { keys: KeyRegistry; allowedPrefixes: readonly string[] },
): string | undefined {
  const refusal = keys.refusal('rule', 'label', label);
  if (refusal !== undefined) return refusal;
  if (allowedPrefixes.length > 0) {
    if (allowedPrefixes.some((prefix) => label.startsWith(prefix))) return undefined;
    return `does not begin with one of rules.allowedPrefixes (${allowedPrefixes.join(', ')})`;
  }
  const domain = reservedDomainOf(label, KUBERNETES_DOMAINS);
  return domain === undefined ? undefined : `is in the reserved domain ${domain}, and not in rules.allowedPrefixes`;
}
