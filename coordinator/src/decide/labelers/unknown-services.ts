import type { Claim, Consequence } from './labeler.ts';
import { SERVICES_UNKNOWN } from './service-keys.ts';

/**
 * While nobody knows the NodeServices, a label that rollcall applied and nothing asks for may be that of one: it stays.
 * Nobody would tell it from one that is left over.
 */
export const unknownServices: Consequence = {
  name: 'left-over-keys',
  claims: (node, wishes): Claim[] => {
    if (node.servicesKnown) return [];
    const hold = { kind: 'label', stance: 'hold', ownership: 'shared', reason: SERVICES_UNKNOWN } as const;
    return [...node.ownedLabels]
      .filter((key) => !wishes.has(key))
      .map((key) => ({ ...hold, key, value: node.labels[key] ?? '' }));
  },
};
