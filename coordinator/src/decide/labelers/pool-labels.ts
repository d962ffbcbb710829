import { MANAGED_LABELS_ANNOTATION } from '@rollcall/common/well-known.ts';
import type { KeyRegistry } from '../../model/keys/key-registry.ts';
import { isOfRule, keysOn, listedKey, type Origin } from '../../state/node-keys.ts';
import { type Claim, type EvaluatedNode, type Labeler, theirLabel } from './labeler.ts';
import { formatManagedLabels, parseManagedLabels, poolLabelSorter, type ReservedKeys } from './pool-keys.ts';

/**
 * The labels that the NodePoolLabels or NodePoolLabelSet of a node's pool asks for. The annotation lists the keys that are ours, whatever
 * writer set their value last. A label that is on the node already and not listed belongs to another writer, and stays,
 * also when the pool no longer asks for it; with the wanted value it becomes ours once only rollcall applies it.
 */
export function poolLabelsLabeler(reserved: ReservedKeys): Labeler {
  // The same for every node of a pool.
  const sort = poolLabelSorter(reserved);
  const { keys } = reserved;
  const isUntouchable = (key: string) => keys.isUntouchable('label', key);
  return {
    name: 'pool-labels',
    claims: (node) => {
      const readable = parseManagedLabels(node.annotations[MANAGED_LABELS_ANNOTATION]);
      const managed = readable ?? new Set<string>();
      if (!node.poolLabelSetsKnown) {
        const ours = [...new Set([...managed, ...appliedForPools(node, keys)])];
        return holdAll(
          node,
          ours.filter((key) => !isUntouchable(key)),
        );
      }
      const accepted = node.poolLabelSet ? sort(node.poolLabelSet).accepted : NO_LABELS;
      const source = reasonOf(node);
      const object = labelsOfPool(node.pool);
      const listed: string[] = [];
      const claims = [...accepted].map(([key, value]): Claim => {
        const label = { ...OWN, kind: 'label', key, value, object } as const;
        const there = node.labels[key];
        if (managed.has(key) || there === undefined || isOursAlone(key, node)) {
          listed.push(key);
          return { ...label, stance: 'present', ownership: 'exclusive', reason: source };
        }
        if (there === value && node.ownedLabels.has(key))
          return { ...label, stance: 'present', ownership: 'shared', reason: source };
        if (there !== value) return theirLabel(key, value, there);
        const reason = 'already has this value, set by another client';
        return { ...label, stance: 'absent', ownership: 'shared', reason, cause: 'evidence' };
      });
      const gone = [...managed].filter((key) => !accepted.has(key) && !isUntouchable(key));
      for (const key of gone) {
        const reason = node.poolLabelSet ? `${source} no longer requests it` : source;
        claims.push({
          ...OWN,
          kind: 'label',
          key,
          value: '',
          stance: 'absent',
          ownership: 'exclusive',
          reason,
          object,
        });
      }
      return [...claims, annotationClaim(listed, readable !== undefined)];
    },
  };
}

/** A name for what gives a pool its labels, whichever object that is, even if there is none. */
export function labelsOfPool(pool: string | undefined): string {
  return pool === undefined ? 'no pool' : `labels of the pool ${pool}`;
}

const NO_LABELS: ReadonlyMap<string, string> = new Map();
const OWN = { origin: 'pool', cause: 'configuration' } as const;

function originOf(key: string, node: EvaluatedNode): Origin | undefined {
  return keysOn(node).get(listedKey('label', key));
}

/**
 * Whether the label is of a rule, or has no known origin, and is not applied by another writer as well: a pool takes
 * precedence.
 */
function isOursAlone(key: string, node: EvaluatedNode): boolean {
  return (node.ownedLabels.has(key) || isOfRule(originOf(key, node))) && !node.sharedLabels.has(key);
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
