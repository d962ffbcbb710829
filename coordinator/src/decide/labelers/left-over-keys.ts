import { KEY_KINDS, type ListedKind } from '../../model/keys/key-kinds.ts';
import type { KeyRegistry } from '../../model/keys/key-registry.ts';
import type { Service, TaintEffect } from '../../model/services.ts';
import { isOfRule, isOfService, keysOn, listedKey, type Origin, splitListed } from '../../state/node-keys.ts';
import type { Claim, Claimed, Consequence, EvaluatedNode } from './labeler.ts';

const NOTHING_ASKS = 'nothing requests it any more';
const SERVICES_UNKNOWN = 'it may belong to a NodeService; these have not been listed yet';

/**
 * Keys that a Node lists as set by rollcall and that no labeler claims: the NodeService was deleted or the flag
 * changed, perhaps while no coordinator ran. `before-rules` claims listed keys of every origin but rules, so that rules
 * do not build on them; `after-rules` claims listed keys of rules, and labels and conditions that rollcall applied and
 * that are not listed.
 */
export function leftOverKeys(
  keys: KeyRegistry,
  stage: 'before-rules' | 'after-rules',
  services: () => readonly Pick<Service, 'dryRun'>[] = () => [],
): Consequence {
  return {
    name: 'left-over-keys',
    claims: (node, _wishes, claimed) => {
      const claims = [...keysOn(node)].flatMap(([id, origin]): Claim[] => {
        const listed = splitListed(id);
        // The labeler of pools claims what is listed as a pool's, and leaves the rest to people.
        if (!listed || claimed.has(id) || origin === 'pool' || isOfRule(origin) !== (stage === 'after-rules'))
          return [];
        return claimOf(listed, origin, node, keys);
      });
      return stage === 'after-rules' ? [...claims, ...unlisted(node, claimed, keys, services)] : claims;
    },
  };
}

function claimOf(
  { kind, key }: { kind: ListedKind; key: string },
  origin: Origin,
  node: EvaluatedNode,
  keys: KeyRegistry,
): Claim[] {
  const base = {
    kind,
    key,
    value: node.labels[key] ?? '',
    reason: reasonOf(origin),
    cause: 'configuration',
    origin,
  } as const;
  if (!isOfService(origin) || isOfRule(origin)) {
    // Others may have set it meanwhile: it is let go of where rollcall applied it.
    if (!node.ownedLabels.has(key)) return [];
    return [{ ...base, stance: 'absent', ownership: isOfRule(origin) ? 'forced' : 'shared' }];
  }
  if (keys.isUntouchable(kind, key)) return [];
  const ownership = KEY_KINDS[kind].removal;
  if (origin === 'gitpod') return [{ ...base, stance: 'absent', ownership }];
  if (!node.servicesKnown) return [{ ...base, stance: 'keep', ownership, reason: SERVICES_UNKNOWN, cause: 'unknown' }];
  return [{ ...base, stance: 'absent', ownership, object: origin === 'service:' ? `${kind} ${key}` : origin }];
}

function reasonOf(origin: Origin): string {
  if (origin.startsWith('service:')) return 'no service publishes it any more';
  if (origin === 'gitpod') return 'the flags of Gitpod no longer ask for it';
  return origin === 'fact' ? '--fact-labels no longer names it' : NOTHING_ASKS;
}

/**
 * Keys that the Node does not list, since the list was removed, and that are rollcall's all the same: labels and conditions by
 * field ownership, taints by a prefix that NodeServices alone use.
 */
function unlisted(
  node: EvaluatedNode,
  claimed: Claimed,
  keys: KeyRegistry,
  services: () => readonly Pick<Service, 'dryRun'>[],
): Claim[] {
  const isOpen = (kind: ListedKind) => (key: string) =>
    !claimed.has(listedKey(kind, key)) && !keysOn(node).has(listedKey(kind, key));
  const stand = node.servicesKnown
    ? ({ stance: 'absent', reason: NOTHING_ASKS, cause: 'configuration' } as const)
    : ({ stance: 'keep', reason: SERVICES_UNKNOWN, cause: 'unknown' } as const);
  const labels = [...node.ownedLabels].filter(isOpen('label')).map((key): Claim => {
    const isByFlag = keys.entryOf('label', key) !== undefined;
    const object = isByFlag || !node.servicesKnown ? {} : { object: `label ${key}` };
    return { ...stand, ...object, kind: 'label', key, value: node.labels[key] ?? '', ownership: 'shared' };
  });
  const conditions = [...node.ownedConditions]
    .filter((key) => isOpen('condition')(key) && !keys.isUntouchable('condition', key))
    .map((key): Claim => ({ ...stand, kind: 'condition', key, value: '', ownership: 'shared', origin: 'service:' }));
  // A dry run removes nothing: another client set what is below its key.
  const isOfDryRun = (key: string) => services().some(({ dryRun }) => dryRun?.taint?.key === key);
  const taints = (node.taints ?? [])
    .filter(({ key }) => keys.isTaintOfServices(key) && isOpen('taint')(key) && !isOfDryRun(key))
    .map(
      ({ key, effect }): Claim => ({
        ...stand,
        kind: 'taint',
        key,
        value: '',
        effect: effect as TaintEffect,
        ownership: 'exclusive',
        origin: 'service:',
      }),
    );
  return [...labels, ...conditions, ...taints];
}
