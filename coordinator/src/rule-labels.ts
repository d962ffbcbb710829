import type { Clock } from '@rollcall/common/clock.ts';
import type { Logger } from '@rollcall/common/logging.ts';
import { DEVICE_IDENTITY_PREFIX, FACT_PREFIX, WORKSPACE_NODE_LABELS } from '@rollcall/common/well-known.ts';
import type { CoordinatorConfig } from './config.ts';
import { KUBERNETES_DOMAINS, reservedDomainOf } from './reserved-domains.ts';
import { RuleDirectory } from './rule-files/rule-directory.ts';
import type { Service } from './services.ts';

/** Reads the rules of `--label-dir`, if there is one. Throws CONFIG_INVALID when it cannot be listed. */
export async function openRules(
  config: Pick<CoordinatorConfig, 'labelDir' | 'watchedServices' | 'poolLabels' | 'rulesAllowedPrefixes'>,
  options: { clock: Clock; logger: Logger },
): Promise<RuleDirectory | undefined> {
  const { labelDir, watchedServices: services, poolLabels, rulesAllowedPrefixes: allowedPrefixes } = config;
  if (labelDir === undefined) return undefined;
  const refuse = (label: string) => ruleLabelProblem(label, { services, poolLabels, allowedPrefixes });
  return RuleDirectory.open({ path: labelDir, refuse, ...options });
}

/**
 * Says why a rule may not create this label, or nothing. `allowedPrefixes` are what its key has to begin with; without
 * any, every label is allowed outside the domains of Kubernetes. What rollcall sets for other reasons, and what says
 * what a node is, is nothing for rules in any case.
 */
export function ruleLabelProblem(
  label: string,
  options: {
    services: readonly Pick<Service, 'label'>[];
    poolLabels: readonly string[];
    allowedPrefixes: readonly string[];
  },
): string | undefined {
  const { services, poolLabels, allowedPrefixes } = options;
  if (services.some((service) => service.label === label)) return 'is set by rollcall for another reason';
  const isOurs = [DEVICE_IDENTITY_PREFIX, FACT_PREFIX].some((prefix) => label.startsWith(prefix));
  if (isOurs) return 'is in a domain that rollcall sets labels in for other reasons';
  if (poolLabels.includes(label)) return 'says which pool a node is in';
  if (WORKSPACE_NODE_LABELS.includes(label)) return 'says what a node is for';
  if (allowedPrefixes.length > 0) {
    if (allowedPrefixes.some((prefix) => label.startsWith(prefix))) return undefined;
    return `does not begin with one of rules.allowedPrefixes (${allowedPrefixes.join(', ')})`;
  }
  const domain = reservedDomainOf(label, KUBERNETES_DOMAINS);
  return domain === undefined ? undefined : `is in the reserved domain ${domain}, and not in rules.allowedPrefixes`;
}
