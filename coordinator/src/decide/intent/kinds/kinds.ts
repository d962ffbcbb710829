import type { KeyKind } from '../../../model/keys/key-entry.ts';
import type { Claim } from '../../labelers/labeler.ts';
import type { NodeKeyRef } from '../plan.ts';
import { annotation } from './annotation.ts';
import { condition, conditionsWrite } from './condition.ts';
import type { KeyModule, Shown, Write, WriteModule } from './kind.ts';
import { label } from './label.ts';
import { setWrite, withdrawWrite } from './metadata.ts';
import { taint, taintsWrite } from './taint.ts';

/** Every kind of key. */
export const KINDS: Readonly<Record<KeyKind, KeyModule>> = { label, annotation, taint, condition };

/** Every kind of request, in the order in which a plan is carried out, but that what is urgent goes first. */
export const WRITES: Readonly<Record<Write['write'], WriteModule>> = {
  withdraw: withdrawWrite,
  set: setWrite,
  taints: taintsWrite,
  conditions: conditionsWrite,
};

/** The value of a key on a Node, as people read it. */
export function valueOn(node: Shown, { kind, key }: NodeKeyRef): string | undefined {
  return KINDS[kind].valueOn(node, key);
}

/** The value that a claim wants, as `valueOn` shows it. */
export function wantedValue(claim: Pick<Claim, 'kind' | 'value' | 'effect'>): string {
  return KINDS[claim.kind].wantedValue(claim);
}
