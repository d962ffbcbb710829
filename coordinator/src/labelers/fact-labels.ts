import { isLabelKey } from '@rollcall/common/label-syntax.ts';
import { FACT_PREFIX } from '@rollcall/common/well-known.ts';
import type { Claim, Labeler } from './labeler.ts';

const VALUE_LENGTH_MAX = 63;

/** Labels for the facts of a machine that are asked for, by name. */
export function factLabelsLabeler(names: readonly string[]): Labeler {
  return {
    name: 'fact-labels',
    claims: ({ machine, ownedLabels, labels }) => {
      if (!machine) {
        const own = [...ownedLabels].filter((key) => key.startsWith(FACT_PREFIX));
        const hold = { stance: 'hold', ownership: 'shared', reason: 'no agent has told its facts yet' } as const;
        return own.map((key): Claim => ({ kind: 'label', key, value: labels[key] ?? '', ...hold }));
      }
      return names.flatMap((name): Claim[] => {
        const value = labelValue(machine.facts[name] ?? '');
        const key = `${FACT_PREFIX}${name}`;
        if (value === '' || !isLabelKey(key)) return [];
        const reason = `the agent says that ${name} is ${JSON.stringify(machine.facts[name])}`;
        return [{ kind: 'label', key, value, stance: 'want', ownership: 'shared', reason }];
      });
    },
  };
}

/** The text with what no value of a label may hold as dashes; empty where nothing is left. */
export function labelValue(text: string): string {
  const dashed = text.replace(/[^-A-Za-z0-9_.]+/g, '-').slice(0, VALUE_LENGTH_MAX);
  return dashed.replace(/^[-_.]+|[-_.]+$/g, '');
}
