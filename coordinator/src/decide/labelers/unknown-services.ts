import type { Claim, Consequence } from './labeler.ts';

/**
 * While nobody knows the NodeServices, a label that rollcall applied and nothing asks for may be that of one: it stays.
 * Nobody would tell it from one that is left over.
 */
export const unknownServices: Consequence = {
  name: 'left-over-keys',
  claims: (node, wishes): Claim[] => {
    if (node.servicesKnown) return [];
    const reason = 'it may belong to a NodeService; these have not been listed yet';
    const hold = { kind: 'label', stance: 'hold', ownership: 'shared', reason } as const;
    return [...node.ownedLabels]
      .filter((key) => !wishes.has(key))
      .map((key) => ({ ...hold, key, value: node.labels[key] ?? '' }));
  },
};
