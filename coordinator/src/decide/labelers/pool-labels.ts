import { MANAGED_LABELS_ANNOTATION } from '@rollcall/common/well-known.ts';
import type { KeyRegistry } from '../../model/keys/key-registry.ts';
import { isOfRule, isOfService, keysOn, listedKey, type Origin } from '../../state/node-keys.ts';
import { type Claim, type EvaluatedNode, type Labeler, theirLabel } from './labeler.ts';
import {
  formatManagedLabels,
  parseManagedLabels,
  poolLabelSorter,
  type ReservedKeys,
  type SortedPoolLabels,
} from './pool-keys.ts';

/**
 * The labels that the NodePoolLabels or NodePoolLabelSet of a node's pool asks for. The annotation lists the keys that are
 * ours, whatever writer set their value last. A label that is on the node already and not listed belongs to another
 * writer, and stays, also when the pool no longer asks for it; with the wanted value it becomes ours once only rollcall
 * applies it.
 *
 * A listed label that rollcall may not touch, or that another pool of the node asks for, is left: it stays, and stays
 * listed.
 */
export function poolLabelsLabeler(reserved: ReservedKeys): Labeler {
  // The same for every node of a pool.
  const sort = poolLabelSorter(reserved);
  const { keys } = reserved;
  return {
    name: 'pool-labels',
    claims: (node) => {
      const isUntouchable = (key: string) => keys.isUntouchable('label', key);
      const readable = parseManagedLabels(node.annotations[MANAGED_LABELS_ANNOTATION]);
      const managed = readable ?? new Set<string>();
      if (!node.poolLabelSetsKnown) {
        const ours = [...new Set([...managed, ...appliedForPools(node, keys)])];
        return holdAll(
          node,
          ours.filter((key) => !isUntouchable(key)),
        );
      }
      const { accepted } = node.poolLabelSet ? sort(node.poolLabelSet) : NO_LABELS;
      const source = reasonOf(node);
      const object = labelsOfPool(node.pool);
      const left = labelsLeftOn(node, reserved, sort);
      const listed = [...left.keys()];
      const claims = [...left].map(([key, reason]) => leftLabel(key, node.labels[key] ?? '', reason));
      for (const [key, value] of accepted) if (!left.has(key)) claims.push(wanted(key, value));
      for (const key of managed) {
        if (accepted.has(key) || left.has(key) || (isUntouchable(key) && !reserved.removed?.includes(key))) continue;
        const reason = node.poolLabelSet ? `${source} no longer requests it` : source;
        const label = { ...OWN, kind: 'label', key, value: '', object } as const;
        claims.push({ ...label, stance: 'absent', ownership: 'exclusive', reason });
      }
      return [...claims, annotationClaim(listed, readable !== undefined)];

      function wanted(key: string, value: string): Claim {
        const label = { ...OWN, kind: 'label', key, value, object } as const;
        const there = node.labels[key];
        if (managed.has(key) || there === undefined || isOurs(key, node)) {
          listed.push(key);
          return { ...label, stance: 'present', ownership: 'exclusive', reason: source };
        }
        if (there === value && node.ownedLabels.has(key))
          return { ...label, stance: 'present', ownership: 'shared', reason: source };
        if (there !== value) return theirLabel(key, value, there);
        const reason = 'already has this value, set by another client';
        return { ...label, stance: 'absent', ownership: 'shared', reason, cause: 'evidence' };
      }
    },
  };
}

type Sorter = ReturnType<typeof poolLabelSorter>;

/** What decides which listed labels are left on a node. */
export type ListedNode = Pick<
  EvaluatedNode,
  'labels' | 'annotations' | 'ownedLabels' | 'pool' | 'poolLabelSet' | 'otherPoolLabelSets'
>;

/**
 * Returns the listed labels that rollcall leaves on a node, each with the reason: another program set them, or another
 * label of the node names a pool that requests them. A value that rollcall applied follows the set of the pool.
 */
export function labelsLeftOn(node: ListedNode, reserved: ReservedKeys, sort: Sorter): ReadonlyMap<string, string> {
  const { keys, removed = [] } = reserved;
  const accepted = node.poolLabelSet && sort(node.poolLabelSet).accepted;
  const left = new Map<string, string>();
  for (const key of parseManagedLabels(node.annotations[MANAGED_LABELS_ANNOTATION]) ?? []) {
    const there = node.labels[key];
    if (there === undefined || accepted?.get(key) === there || removed.includes(key)) continue;
    const isOurs = node.ownedLabels.has(key);
    if (keys.isUntouchable('label', key)) {
      const isDecided = isOurs || keys.entryOf('label', key)?.ownership === 'exclusive';
      if (!isDecided && keys.poolLabelOf(node.labels) !== key) left.set(key, UNTOUCHABLE);
      continue;
    }
    if (isOurs) continue;
    const other = node.otherPoolLabelSets.find((set) => {
      const value = sort(set).accepted.get(key);
      return accepted?.has(key) ? value === there : value !== undefined;
    });
    if (other) {
      const why = `the node is in the pool ${node.pool}, but another label names the pool ${other.pool}`;
      left.set(key, `${why}, and ${other.kind} ${other.namespace}/${other.name} requests it`);
    }
  }
  return left;
}

const UNTOUCHABLE = 'another program set it for a pool, and pools may not set this key; rollcall leaves it to you';

function leftLabel(key: string, value: string, reason: string): Claim {
  return { ...OWN, kind: 'label', key, value, stance: 'keep', ownership: 'exclusive', reason, isLeft: true };
}

/** A name for what gives a pool its labels, whichever object that is, even if there is none. */
export function labelsOfPool(pool: string | undefined): string {
  return pool === undefined ? 'no pool' : `labels of the pool ${pool}`;
}

const NO_LABELS: SortedPoolLabels = { accepted: new Map(), refused: [] };
const OWN = { origin: 'pool', cause: 'configuration' } as const;

function originOf(key: string, node: EvaluatedNode): Origin | undefined {
  return keysOn(node).get(listedKey('label', key));
}

/**
 * Whether the label is of a rule, or has no known origin, and is not applied by another writer as well: a pool takes
 * precedence. What a NodeService had, which has it no longer, goes whoever applies it as well.
 */
function isOurs(key: string, node: EvaluatedNode): boolean {
  const origin = originOf(key, node);
  if (node.servicesKnown && isOfService(origin) && !isOfRule(origin)) return true;
  return (node.ownedLabels.has(key) || isOfRule(origin)) && !node.sharedLabels.has(key);
}

/** Labels that rollcall applied, and that no other labeler may want gone. */
function appliedForPools(node: EvaluatedNode, keys: KeyRegistry): string[] {
  const isForPools = (key: string) => ['pool', undefined].includes(originOf(key, node)) && !keys.entryOf('label', key);
  return [...node.ownedLabels].filter(isForPools);
}

/** Until the sets are known everything stays as it is. */
function holdAll({ labels, annotations }: EvaluatedNode, managed: readonly string[]): Claim[] {
  const hold = {
    stance: 'keep',
    ownership: 'exclusive',
    reason: 'the NodePoolLabels and NodePoolLabelSets have not been listed yet',
    cause: 'unknown',
  } as const;
  const list = { kind: 'annotation', key: MANAGED_LABELS_ANNOTATION } as const;
  return [
    ...managed.map((key): Claim => ({ origin: 'pool', kind: 'label', key, value: labels[key] ?? '', ...hold })),
    { ...list, value: annotations[list.key] ?? '', ...hold },
  ];
}

function annotationClaim(listed: readonly string[], wasReadable: boolean): Claim {
  const annotation = {
    kind: 'annotation',
    key: MANAGED_LABELS_ANNOTATION,
    ownership: 'exclusive',
    cause: 'configuration',
  } as const;
  const more = wasReadable
    ? ''
    : '; its previous value was not a JSON array of keys, so no label is removed because of it';
  if (listed.length === 0) {
    return { ...annotation, value: '', stance: 'absent', reason: `the node has no managed labels${more}` };
  }
  const reason = `lists the labels that the node has because of its pool${more}`;
  return { ...annotation, value: formatManagedLabels(listed), stance: 'present', reason };
}

function reasonOf({ pool, poolLabelSet }: EvaluatedNode): string {
  if (pool === undefined) return 'the node is in no pool';
  if (!poolLabelSet) return `the pool ${pool} has no NodePoolLabels or NodePoolLabelSet`;
  const { kind, namespace, name } = poolLabelSet;
  return `${kind} ${namespace}/${name} of the pool ${pool}`;
}
