import {
  DO_NOT_DISRUPT,
  KARPENTER_POOL_LABEL,
  KEYS_ANNOTATION,
  MANAGED_LABELS_ANNOTATION,
  notReadyTaint,
  readyLabel,
  SCALE_DOWN_DISABLED,
  SCALE_DOWN_HOLD,
  WITHDRAWN_LABELS_ANNOTATION,
} from '@rollcall/common/well-known.ts';
import type { Node } from '@rollcall/coordinator/kube/objects.ts';
import { inForce } from './acceptance.ts';
import { guardWants } from './blast-radius.ts';
import { holdOn } from './node-holds.ts';
import { idsOf, POOL_LABEL, PUBLISHED_IDS } from './node-services.ts';
import { isEditedLately, isOwnApply, isUnknowable } from './ours.ts';
import { PERSON } from './people.ts';
import { wantPublished } from './published.ts';
import {
  areById,
  CORAL_LABEL,
  COUNT_LABEL,
  DEVICE_LABEL,
  IDENTITY_LABEL,
  IMPLIED_LABEL,
  POOL_KEYS,
  SHARED,
} from './rules.ts';
import type { Hearing } from './silence.ts';
import { wantStarted } from './startup.ts';
import { wantGate } from './startup-gate.ts';
import { type NodeTruth, SERVICE_NAMES, type ServiceName } from './truth.ts';
import type { Verdict } from './verdicts.ts';
import { ANY, HOLD, type Want } from './want.ts';
import type { World } from './world.ts';

/** The key of a pool, an implied label, or an annotation, by whose it is. */
type Keyed = { id: string; want: Want };

type Judged = { hearing: Hearing; verdicts: ReadonlyMap<string, Verdict> };

/** The whole truth about one Node: every key that is ours there, and what is to be there now. */
export function wantsOf(world: World, truth: NodeTruth, { hearing, verdicts }: Judged): Map<string, Want> {
  const node = world.nodes.get(truth.name);
  const wants = new Map<string, Want>();
  if (!node) return wants;
  // What rollcall was about to let go of when its write hung may have become theirs.
  const isHung = world.nowMs < world.faults.hungUntilMs(truth.name);
  if (isHung || world.isMuddled(truth.name)) for (const id of truth.claims.keys()) truth.claims.set(id, 'open');
  for (const service of SERVICE_NAMES)
    wantService(wants, { world, truth, node, service, verdict: verdicts.get(service) ?? 'unknown' });
  wantPublished(wants, { world, truth, verdicts });
  wantStarted(wants, { world, truth, verdicts });
  wantGate(wants, { world, truth, verdicts });
  // Of devices, what was said last is believed until an agent reports something else.
  const told = truth.said?.device ? 'true' : undefined;
  const device = hearing === 'open' && truth.voices.size > 1 ? ANY : truth.said ? told : HOLD;
  wants.set(`label:${DEVICE_LABEL}`, truth.nfd ? 'true' : device);
  wants.set(`label:${IDENTITY_LABEL}`, device);
  wants.set(`label:${COUNT_LABEL}`, device === 'true' ? '1' : device);
  for (const key of [DEVICE_LABEL, IDENTITY_LABEL, COUNT_LABEL]) {
    const id = `label:${key}`;
    if (wants.get(id) === undefined && isUnknowable(world, truth, id)) wants.set(id, ANY);
  }
  const ofServices = new Set(inForce(world).flatMap(({ spec }) => idsOf(spec)));
  const keyed = [...poolKeys(world, truth, node, ofServices), ...impliedKeys(world, truth, node, device)];
  for (const { id, want } of keyed) {
    if (ofServices.has(id) || (want === undefined && wants.get(id) === ANY)) continue;
    // Until NodeServices are known, a key may be one of theirs.
    if (!world.servicesAreKnown && PUBLISHED_IDS.includes(id)) {
      wants.set(id, want === undefined ? HOLD : ANY);
      continue;
    }
    // A key of theirs, or of which no list tells the origin, stays until they are known, and goes then.
    if (want === undefined && !knowsServices(world) && (truth.unlisted.has(id) || isOfService(node, id))) {
      wants.set(id, HOLD);
      continue;
    }
    // What a person changed a moment before we let go of it may have become theirs.
    const isLate = isEditedLately(world, truth, id);
    // An implied label is let go of, not removed: it stays where a person has it, too.
    const isImplied = world.rules.labels.has(id.slice('label:'.length));
    const isTheirs = isImplied && isOwnedByPerson(node, id.slice('label:'.length));
    const isLetGo =
      want === undefined
        ? isLate || isTheirs || isUnknowable(world, truth, id)
        : isTheirs && world.isMuddled(truth.name);
    if (isLetGo && !truth.claims.has(id)) truth.claims.set(id, 'open');
    if (truth.claims.get(id) !== 'foreign') wants.set(id, truth.claims.get(id) === 'open' ? ANY : want);
  }
  wantScaleDown(wants, { world, truth, node });
  guardWants(wants, world, truth);
  // The state on the Node counts, and not the wanted one.
  wants.set(`annotation:${KEYS_ANNOTATION}`, ANY);
  if (world.evict) wants.set(`annotation:${WITHDRAWN_LABELS_ANNOTATION}`, ANY);
  return wants;
}

function knowsServices({ servicesAreKnown, serviceWrites }: World): boolean {
  return servicesAreKnown && !serviceWrites.areLost;
}

/** Whether a label is there that rollcall set for a NodeService. */
function isOfService({ metadata: { annotations = {}, labels = {} } }: Node, id: string): boolean {
  const isListed = annotations[KEYS_ANNOTATION]?.includes(`${JSON.stringify(id)}:"service:`) === true;
  return isListed && labels[id.slice('label:'.length)] === 'true';
}

function isOwnedByPerson({ metadata: { managedFields = [] } }: Node, label: string): boolean {
  return managedFields.some(({ manager, fieldsV1 }) => {
    const fields = fieldsV1?.['f:metadata'] as Record<string, Record<string, unknown>> | undefined;
    return manager === PERSON && fields?.['f:labels']?.[`f:${label}`] !== undefined;
  });
}

type OfService = { world: World; truth: NodeTruth; node: Node; service: ServiceName; verdict: Verdict };

function wantService(wants: Map<string, Want>, { world, truth, node, service, verdict }: OfService): void {
  const label = readyLabel(service, 'default');
  const [shown, hidden] = [
    { ready: 'true', 'not-ready': undefined, silent: undefined, unknown: HOLD, open: ANY } as const,
    {
      ready: undefined,
      'not-ready': 'true:NoSchedule',
      silent: 'true:NoSchedule',
      unknown: HOLD,
      open: ANY,
    } as const,
  ];
  const taint = notReadyTaint(service);
  if (world.gate !== 'taint') wants.set(`label:${label}`, shown[verdict]);
  if (world.gate === 'label') return;
  wants.set(`taint:${taint}`, truth.forWorkspaces ? hidden[verdict] : undefined);
  if (world.gate === 'both') return;
  const guarded = node.metadata.labels?.[label] === 'true' || node.spec?.taints?.some(({ key }) => key === taint);
  const isKnown = verdict === 'ready' || verdict === 'not-ready' || verdict === 'silent';
  const lasting = isKnown || guarded ? 'true' : shown[verdict];
  wants.set(`label:${label}`, truth.forWorkspaces ? lasting : undefined);
}

function poolKeys(
  { sets, nodes, rules }: World,
  { name, claims }: NodeTruth,
  { metadata }: Node,
  ofServices: ReadonlySet<string>,
): Keyed[] {
  const { labels = {} } = sets.get(metadata.labels?.[POOL_LABEL] ?? '') ?? {};
  const asked = Object.fromEntries(Object.entries(labels).filter(([key]) => !ofServices.has(`label:${key}`)));
  const listed = keysIn(metadata.annotations?.[MANAGED_LABELS_ANNOTATION]);
  const mayAsk = rules.labels.has(SHARED.byRule) ? [...POOL_KEYS, SHARED.byPool] : POOL_KEYS;
  // A list that was written by what was seen before an answer was lost names less; what rollcall applied is ours still.
  const applied = [...nodes.ownersOf(name)].flatMap(([owner, fields]) =>
    isOwnApply(owner) ? mayAsk.filter((key) => fields.has(`label:${key}`)) : [],
  );
  const keys = [...new Set([...Object.keys(asked), ...listed, ...applied])];
  const ids = keys.map((key) => `label:${key}`);
  const ours = Object.keys(asked).filter((key) => !claims.has(`label:${key}`));
  const list = ours.length > 0 ? JSON.stringify(ours.sort()) : undefined;
  return [
    ...keys.map((key, index) => ({ id: ids[index] ?? '', want: asked[key] })),
    { id: `annotation:${MANAGED_LABELS_ANNOTATION}`, want: ids.some((id) => claims.get(id) === 'open') ? ANY : list },
  ];
}

function impliedKeys({ rulesOn, rules }: World, { nfd }: NodeTruth, { metadata }: Node, device: Want): Keyed[] {
  const coral = rulesOn && metadata.labels?.[CORAL_LABEL] !== undefined ? 'true' : undefined;
  const doubt = rulesOn && (device === HOLD || device === ANY) ? ANY : undefined;
  const want = coral ?? (rulesOn && ((nfd && !areById(rules)) || device === 'true') ? 'true' : doubt);
  const shared = rules.labels.has(SHARED.byRule) ? [{ id: `label:${SHARED.byRule}`, want: coral }] : [];
  return [{ id: `label:${IMPLIED_LABEL}`, want }, ...shared];
}

/**
 * §3, §10: while a workspace or a pod of a NodeHold is on the node. Taken by force while it is wanted, and released
 * afterwards: what a person set may since have another owner. The annotation of Karpenter is for its own nodes.
 */
function wantScaleDown(
  wants: Map<string, Want>,
  { world, truth, node }: Pick<OfService, 'world' | 'truth' | 'node'>,
): void {
  const hold = holdOn(world, truth.name);
  const isAsked = node.metadata.annotations?.[SCALE_DOWN_HOLD] === 'true';
  const hasWorkspace = [...world.workspaces.values()].some((workspace) => workspace.node === truth.name);
  const isKept = isAsked || hasWorkspace || hold === 'held';
  for (const key of [SCALE_DOWN_DISABLED, DO_NOT_DISRUPT]) {
    const id = `annotation:${key}`;
    const isFor = key === SCALE_DOWN_DISABLED || node.metadata.labels?.[KARPENTER_POOL_LABEL] !== undefined;
    const claim = truth.claims.get(id);
    if (isKept && isFor && claim) truth.claims.set(id, 'open');
    if (isKept && isFor) wants.set(id, 'true');
    else if (hold === 'unknown' && isFor) wants.set(id, HOLD);
    else if (claim !== 'foreign') wants.set(id, claim && ANY);
  }
}

function keysIn(list: string | undefined): string[] {
  return list === undefined ? [] : (JSON.parse(list) as string[]);
}
