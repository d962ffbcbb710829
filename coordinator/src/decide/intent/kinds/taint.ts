import { KEYS_ANNOTATION } from '@rollcall/common/well-known.ts';
import { hasTaint, type ObservedNode, type Taint } from '../../../state/observed-node.ts';
import type { Claim } from '../../labelers/labeler.ts';
import type { NodeIntent } from '../intent.ts';
import { withoutTaints } from '../lists.ts';
import type { AnnotationChange, NodeKeyRef, TaintChange } from '../plan.ts';
import {
  isAmong,
  jsonPatch,
  type KeyChange,
  type KeyModule,
  type Operation,
  type Write,
  type WriteModule,
} from './kind.ts';

/** A taint without its key, as `kubectl` writes it. */
export function taintText({ value = '', effect = 'NoSchedule' }: { value?: string; effect?: string }): string {
  return `${value}:${effect}`;
}

export const taint: KeyModule = {
  field: 'spec.taints',
  staysIfSkipped: true,
  isShown: ({ taints }) => taints !== undefined,
  valueOn: ({ taints }, key) => {
    // A key may have several taints with different effects.
    const there = taints?.filter((each) => each.key === key) ?? [];
    return there.length === 0 ? undefined : there.map(taintText).join();
  },
  wantedValue: taintText,
  plan: (node, intent) => {
    const taints = planTaints(node, intent);
    return taints ? { taints } : {};
  },
  planned: ({ taints: { add, remove } = NO_CHANGE }) => [
    ...remove.map((key) => [key, undefined] as const),
    ...add.map((each) => [each.key, taintText(each)] as const),
  ],
  /** Taints that are not known stay listed. */
  isListed({ key }, isListed, { taints: present }, request) {
    const change = 'taints' in request ? request.taints : undefined;
    if (change?.add.some((each) => each.key === key)) return true;
    const isThere = present ? present.some((each) => each.key === key) : isListed;
    return isThere && !change?.remove.includes(key);
  },
  // One atomic list.
  ownedAs: () => ['f:spec', 'f:taints'],
};

const NO_CHANGE: TaintChange = { add: [], remove: [], observed: [] };

/** Changes taints, if those on the Node are still what was observed, with what the Node lists of them. */
export const taintsWrite: WriteModule<Extract<Write, { write: 'taints' }>> = {
  steps: ({ taints }) => (taints ? [{ write: 'taints', taints, urgent: taints.add.length > 0 }] : []),
  patch: ({ taints }, node, isBound) => ({ ...jsonPatch(node, isBound, taintPatch(taints)), whole: true }),
  changes: ({ taints: { add, remove, keys } }) => {
    const added = add.map((each): KeyChange => changeOf(each.key, taintText(each), true));
    const removed = remove.filter((key) => !add.some((each) => each.key === key));
    const list: KeyChange[] = keys
      ? [{ kind: 'annotation', key: KEYS_ANNOTATION, wanted: keys.after, keepsAway: false }]
      : [];
    return [...added, ...removed.map((key) => changeOf(key, undefined, false)), ...list];
  },
  suspects: ({ taints }) => keysOf(taints).map((key): NodeKeyRef => ({ kind: 'taint', key })),
  part: ({ taints: { keys, add, remove, ...rest } }, suspects) => {
    const isKept = isAmong(suspects);
    const left = keysOf({ add, remove }).filter((key) => !isKept(key));
    const listed = keys && withoutTaints(keys, left);
    const part = { add: add.filter(({ key }) => isKept(key)), remove: remove.filter(isKept) };
    return { write: 'taints', taints: { ...rest, ...part, ...(listed && { keys: listed }) } };
  },
};

function changeOf(key: string, wanted: string | undefined, keepsAway: boolean): KeyChange {
  return { kind: 'taint', key, wanted, keepsAway };
}

function keysOf({ add, remove }: Pick<TaintChange, 'add' | 'remove'>): string[] {
  return [...new Set([...add.map(({ key }) => key), ...remove])];
}

/**
 * The taints to add and to remove; `undefined` when they are as they should be, or are not known. A key that is wanted
 * has exactly one taint, and all others of it go, whatever their effect. Where a claim names no effect, one that also
 * evicts is as good while the key is wanted.
 */
export function planTaints({ taints }: ObservedNode, intent: NodeIntent): TaintChange | undefined {
  if (!taints) return undefined;
  const present = new Set(taints.map(({ key }) => key));
  const claims = [...intent.values()].filter(({ kind }) => kind === 'taint');
  const add = claims.filter((claim) => claim.stance === 'present' && !isFulfilled(taints, claim));
  // An existing taint with a key that is to be added has another effect or value, so it is replaced.
  const remove = claims.filter((claim) => (claim.stance === 'absent' || add.includes(claim)) && present.has(claim.key));
  if (add.length + remove.length === 0) return undefined;
  return { add: add.map(taintOf), remove: remove.map(({ key }) => key), observed: taints };
}

function taintOf({ key, value, effect = 'NoSchedule' }: Claim): { key: string; value: string; effect: string } {
  return { key, value, effect };
}

function isFulfilled(taints: readonly Taint[], claim: Claim): boolean {
  const [first, ...others] = taints.filter(({ key }) => key === claim.key);
  if (!first || others.length > 0) return false;
  if (claim.effect === undefined && first.effect === 'NoExecute') return true;
  return hasTaint([first], taintOf(claim));
}

const ANNOTATIONS = '/metadata/annotations';
// As RFC 6901 writes a slash.
const KEYS = `${ANNOTATIONS}/${KEYS_ANNOTATION.replace('/', '~1')}`;

/**
 * Changes some taints and leaves the others as they are, in order, with what the Node says of them. `spec.taints` is one
 * atomic list: each step tests what it relies on, so that the patch fails where the list has become another. One key may
 * have several taints, with different effects.
 */
function taintPatch({ add, remove, observed, keys }: TaintChange): Operation[] {
  // From the end, so that the indexes of those before stay true.
  const operations = [...observed.entries()].toReversed().flatMap(([index, { key, effect }]): Operation[] => {
    const path = `/spec/taints/${index}`;
    if (!remove.includes(key)) return [];
    return [
      { op: 'test', path: `${path}/key`, value: key },
      { op: 'test', path: `${path}/effect`, value: effect },
      { op: 'remove', path },
    ];
  });
  if (observed.length > 0) {
    for (const each of add) operations.push({ op: 'add', path: '/spec/taints/-', value: each });
  } else if (add.length > 0) {
    // Null also matches a list that is not there. Without the test, the list of another client would be replaced.
    operations.push({ op: 'test', path: '/spec/taints', value: null }, { op: 'add', path: '/spec/taints', value: add });
  }
  return keys ? [...operations, ...annotationPatch(keys)] : operations;
}

function annotationPatch({ before, after, intoNone }: AnnotationChange): Operation[] {
  if (intoNone) {
    return [
      { op: 'test', path: ANNOTATIONS, value: null },
      { op: 'add', path: ANNOTATIONS, value: { [KEYS_ANNOTATION]: after } },
    ];
  }
  const test: Operation = { op: 'test', path: KEYS, value: before ?? null };
  if (after === undefined) return [test, { op: 'remove', path: KEYS }];
  return [test, { op: 'add', path: KEYS, value: after }];
}
