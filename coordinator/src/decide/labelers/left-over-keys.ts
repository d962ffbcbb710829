import type { KeyKind } from '../../setup/keys/key-entry.ts';
import type { KeyRegistry } from '../../setup/keys/key-registry.ts';
import type { Claim, Labeler } from './labeler.ts';
import { SERVICES_UNKNOWN, serviceKeysOn } from './service-keys.ts';

/**
 * Labels, taints and conditions that a node has because of a service that is none any more, also where that went while
 * nobody was running: the node itself lists them. What Kubernetes or another labeler has a say in stays, whatever is
 * listed. What rollcall applied of conditions counts as listed.
 */
export function leftOverKeysLabeler(keys: KeyRegistry): Labeler {
  return {
    name: 'left-over-keys',
    claims: (node) => {
      const { labels, taints, conditions } = serviceKeysOn(node);
      const claims = [
        ...claimsOf('label', labels, keys),
        ...claimsOf('taint', taints, keys),
        ...claimsOf('condition', conditions.union(node.ownedConditions), keys),
      ];
      if (node.servicesKnown) return claims;
      // Those that somebody asks for are not left over; of the others nobody knows.
      return claims.map((claim) => ({ ...claim, stance: 'hold', reason: SERVICES_UNKNOWN }));
    },
  };
}

function claimsOf(kind: KeyKind & Claim['kind'], listed: ReadonlySet<string>, keys: KeyRegistry): Claim[] {
  const ownership = kind === 'condition' ? 'shared' : 'exclusive';
  const base = { kind, value: '', stance: 'withhold', ownership, service: 'left-over' } as const;
  return [...listed]
    .filter((key) => !keys.isUntouchable(kind, key))
    .map((key) => ({ ...base, key, reason: 'the service that published it no longer exists' }));
}
