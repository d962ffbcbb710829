import type { Claim } from './labeler.ts';

/** The claim for a label that another writer set before rollcall could: it stays, whatever its value. */
export function theirLabel(key: string, value: string, there: string): Claim {
  const reason = `already has the value ${JSON.stringify(there)}, set by another client`;
  const claim = {
    kind: 'label',
    key,
    value,
    stance: 'absent',
    ownership: 'shared',
    reason,
    cause: 'evidence',
  } as const;
  return there === value ? claim : { ...claim, isForeign: true };
}
