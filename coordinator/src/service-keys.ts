import { configInvalid } from '@rollcall/common/config/load.ts';
import { isLabelKey } from '@rollcall/common/label-syntax.ts';
import { WORKSPACE_NODE_LABELS } from '@rollcall/common/well-known.ts';
import { KUBERNETES_DOMAINS, reservedDomainOf } from './reserved-domains.ts';
import type { Service } from './services.ts';

/** Says what is wrong with a key of a label or a taint that is to be rollcall's own, or nothing. */
export function checkOwnKey(key: string): string | undefined {
  if (!isLabelKey(key)) {
    return 'must be DOMAIN/NAME, a name of at most 63 letters, digits, "-", "_" and ".", the domain in lower case';
  }
  const reserved = reservedDomainOf(key, KUBERNETES_DOMAINS);
  return reserved === undefined ? undefined : `must not be in the domain ${reserved}, which is that of Kubernetes`;
}

/**
 * Checks the keys of the services that the configuration file names, when all that is computed is filled in: each key
 * is valid, is that of one service, and is no label that says what a node is. Throws CONFIG_INVALID.
 */
export function checkServiceKeys(
  file: string | undefined,
  entries: readonly Partial<Service>[],
  { services, poolLabels }: { services: readonly Service[]; poolLabels: readonly string[] },
): void {
  const nodeLabels = [...WORKSPACE_NODE_LABELS, ...poolLabels];
  for (const [index, entry] of entries.entries()) {
    const service = services.find(({ name }) => name === entry.name);
    if (!service) continue;
    const place = `${file}: services[${index}]`;
    if (nodeLabels.includes(service.label)) {
      throw configInvalid(`${place}.label`, `${service.label} says what a node is: choose another`);
    }
    for (const kind of ['label', 'taint'] as const) {
      const key = service[kind];
      if (!isLabelKey(key)) {
        const fix = `choose a shorter one, or set ${kind}`;
        throw configInvalid(
          `${place}.name`,
          `makes the ${kind} ${key}, where 63 characters may follow the slash: ${fix}`,
        );
      }
      const other = services.find((each) => each !== service && each[kind] === key);
      if (other) throw configInvalid(`${place}.${kind}`, `${key} is that of ${other.name} already: choose another`);
    }
  }
}
