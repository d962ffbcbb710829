import { isLabelKey } from '@rollcall/common/label-syntax.ts';
import { FACT_PREFIX } from '@rollcall/common/well-known.ts';
import type { Claim, Labeler } from './labeler.ts';

const VALUE_LENGTH_MAX = 63;

/** Labels for the facts of a machine that are asked for, by name. */
export function factLabelsLabeler(names: readonly string[]): Labeler {
  return {
    name: 'fact-labels',
    claims: ({ machine, ownedLabels, labels }) => {
      const isAllKnown = machine !== undefined && !machine.unread?.includes('facts');
      return names.flatMap((name): Claim[] => {
        const fact = machine?.facts[name] ?? '';
        const key = `${FACT_PREFIX}${name}`;
        const label = { kind: 'label', key, ownership: 'shared', origin: 'fact' } as const;
        const value = labelValue(fact);
        if (value !== '' && isLabelKey(key)) {
          const reason = `the agent reports ${name} as ${JSON.stringify(fact)}`;
          return [{ ...label, value, stance: 'present', reason, cause: 'agent' }];
        }
        if (!ownedLabels.has(key)) return [];
        const there = { ...label, value: labels[key] ?? '' };
        if (isAllKnown)
          return [{ ...there, stance: 'absent', reason: `the agent reports no ${name} any more`, cause: 'agent' }];
        const reason = machine ? 'the agent has not read the facts yet' : 'no agent has reported the facts yet';
        return [{ ...there, stance: 'keep', reason, cause: 'unknown' }];
      });
    },
  };
}

/** The text with what no value of a label may hold as dashes; empty where nothing is left. */
export function labelValue(text: string): string {
  const dashed = text.replace(/[^-A-Za-z0-9_.]+/g, '-').slice(0, VALUE_LENGTH_MAX);
  return dashed.replace(/^[-_.]+|[-_.]+$/g, '');
}
