import { KEYS_ANNOTATION } from '@rollcall/common/well-known.ts';
import { inForce } from './acceptance.ts';
import { idsOf, type NodeServiceObject, PUBLISHED_IDS } from './node-services.ts';
import { isBeforeFirstApply, isEditedLately, isOwnApply, isUnknowable } from './ours.ts';
import { valueOn } from './sights.ts';
import { isSelected, mayWait, wasOpen } from './taint-budget.ts';
import type { NodeTruth } from './truth.ts';
import type { Verdict } from './verdicts.ts';
import { ANY, HOLD, type Want } from './want.ts';
import type { World } from './world.ts';

const LABEL = { ready: 'true', 'not-ready': undefined, silent: undefined, unknown: HOLD, open: ANY } as const;
const CONDITION = { ready: 'True', 'not-ready': 'False', silent: 'Unknown', unknown: HOLD, open: ANY } as const;

/**
 * §10: a node that is no longer selected loses the keys that rollcall set, and nothing else; gone is gone, whoever
 * co-owns them.
 */
export function wantPublished(
  wants: Map<string, Want>,
  { world, truth, verdicts }: { world: World; truth: NodeTruth; verdicts: ReadonlyMap<string, Verdict> },
): void {
  const services = inForce(world);
  for (const id of PUBLISHED_IDS) {
    const service = services.find(({ spec }) => idsOf(spec).includes(id));
    const isTheirs = isOfRival(world, truth, id);
    if (isTheirs) truth.claims.set(id, 'foreign');
    else if (service || (id.startsWith('condition:') && truth.claims.get(id) === 'foreign')) truth.claims.delete(id);
    if (isTheirs) continue;
    if (!world.servicesAreKnown) {
      // §10: what cannot be listed keeps what is there.
      wants.set(id, HOLD);
    } else if (service && isSelected(world, truth, service)) {
      const verdict = verdicts.get(service.name);
      const known = verdict && wantOf(service, id, verdict);
      // §10: unknown keeps what is published. What another claimant had says nothing of the service.
      const want = known === HOLD && originOf(world, truth, id)?.startsWith('service:') === false ? undefined : known;
      const isLate = id.startsWith('taint:') && typeof want === 'string' && mayWait(world, truth, service);
      wants.set(id, isLate || (verdict === 'unknown' && mayBeClosed(world, truth, { service, id })) ? ANY : want);
    } else if (truth.ours.has(id)) {
      wants.set(id, world.serviceWrites.areLost ? HOLD : wantGone(world, truth, id));
    } else if (isListed(world, truth, id)) {
      wants.set(id, ANY);
    }
  }
}

/** §10: a node that is younger than the service is closed from birth, also while nothing is known of it. */
function mayBeClosed(
  { nodes }: World,
  { name }: NodeTruth,
  { service, id }: { service: NodeServiceObject; id: string },
): boolean {
  const node = nodes.get(name);
  const isBounded = service.spec.publish.taint?.effect !== 'NoExecute';
  return id.startsWith('taint:') && isBounded && node !== undefined && !wasOpen(node, service);
}

/**
 * §10: no taint is ever orphaned. What a person added to the key a moment before rollcall let go of it may have become
 * theirs; what rollcall set goes in any case.
 */
function wantGone(world: World, truth: NodeTruth, id: string): Want {
  const { name, ours, claims } = truth;
  if (id.startsWith('taint:') && isEditedLately(world, truth, id)) claims.set(id, 'open');
  if (isUnknowable(world, truth, id)) return ANY;
  const node = world.nodes.get(name);
  const isOrphan =
    node &&
    valueOn(node, id)
      ?.split(',')
      .includes(ours.get(id) ?? '');
  return claims.get(id) === 'open' && !isOrphan ? ANY : undefined;
}

function wantOf({ spec: { publish } }: NodeServiceObject, id: string, verdict: Verdict): Want {
  if (id.startsWith('label:')) return LABEL[verdict];
  if (id.startsWith('condition:')) return CONDITION[verdict];
  return taintWant(publish.taint ?? { value: '', effect: '' }, verdict);
}

/** §10: there exactly while not ready. `NoExecute` acts on evidence and agent alone. */
function taintWant({ value, effect }: { value: string; effect: string }, verdict: Verdict): Want {
  const isHeld = verdict === 'silent' && effect === 'NoExecute';
  if (isHeld || verdict === 'unknown') return HOLD;
  if (verdict === 'open') return ANY;
  return verdict === 'ready' ? undefined : `${value}:${effect}`;
}

/** §10: a condition whose entry another manager owns too is left out. */
function isOfRival({ nodes }: World, { name }: NodeTruth, id: string): boolean {
  if (!id.startsWith('condition:')) return false;
  return [...nodes.ownersOf(name)].some(
    ([owner, fields]) => !isOwnApply(owner) && !isBeforeFirstApply(owner) && fields.has(id),
  );
}

function isListed(world: World, truth: NodeTruth, id: string): boolean {
  return originOf(world, truth, id) !== undefined;
}

function originOf({ nodes }: World, { name }: NodeTruth, id: string): string | undefined {
  const list = nodes.get(name)?.metadata.annotations?.[KEYS_ANNOTATION] ?? '{}';
  return (JSON.parse(list) as Record<string, string>)[id];
}
