import { DO_NOT_DISRUPT, KEYS_ANNOTATION, SCALE_DOWN_DISABLED } from '@rollcall/common/well-known.ts';
import type { Taint } from '@rollcall/coordinator/kube/objects.ts';
import type { NodeTruth } from './truth.ts';
import type { World } from './world.ts';

export const PERSON = 'kubectl-edit';

type Edits = { labels?: Record<string, string | null>; annotations?: Record<string, string | null> };

/** As `kubectl label --overwrite` and `kubectl annotate --overwrite` do. */
export function edit(world: World, { name }: NodeTruth, metadata: Edits): void {
  world.nodes.patch({ kind: 'merge', name, manager: PERSON, body: { metadata } });
}

/** The list of rollcall's keys goes. */
export function removeList(world: World, truth: NodeTruth): void {
  const list = world.nodes.get(truth.name)?.metadata.annotations?.[KEYS_ANNOTATION] ?? '{}';
  for (const id of Object.keys(JSON.parse(list) as object)) truth.unlisted.add(id);
  edit(world, truth, { annotations: { [KEYS_ANNOTATION]: null } });
}

/** Nothing tells any more who set what, but for the list of rollcall's keys, which has no annotations. */
export function resetManagedFields(world: World, truth: NodeTruth): void {
  const { name, claims, ours, nfd } = truth;
  // Nothing would show from then on whether a label of a device is NFD’s or ours.
  if (nfd) return;
  truth.wasReset = true;
  world.nodes.patch({ kind: 'merge', name, manager: PERSON, body: { metadata: { managedFields: [{}] } } });
  const { annotations = {} } = world.nodes.get(name)?.metadata ?? {};
  for (const id of claims.keys()) claims.set(id, 'open');
  for (const key of [SCALE_DOWN_DISABLED, DO_NOT_DISRUPT])
    if (annotations[key] !== undefined) claims.set(`annotation:${key}`, 'open');
  for (const id of ours.keys()) if (!annotations[KEYS_ANNOTATION]?.includes(JSON.stringify(id))) ours.delete(id);
}

/** As `kubectl taint --overwrite` does: a new taint goes before the others. */
export function taint(world: World, truth: NodeTruth, added: Taint): void {
  setTaints(world, truth, (taints) => [added, ...taints.filter(({ key }) => key !== added.key)]);
}

/** As `kubectl taint` does: a taint of another effect comes beside those of the key. */
export function taintAsWell(world: World, truth: NodeTruth, added: Taint): void {
  setTaints(world, truth, (taints) => [
    added,
    ...taints.filter(({ key, effect }) => key !== added.key || effect !== added.effect),
  ]);
}

/** As `kubectl edit --subresource=status` does: the entry stays whose it is. */
export function setStatus(world: World, { name }: NodeTruth, type: string, value: string): void {
  const index = indexOf(world, name, type);
  if (index < 0) return;
  const body = [{ op: 'replace', path: `/status/conditions/${index}/status`, value }];
  world.nodes.patch({ kind: 'json', name, manager: PERSON, body, subresource: 'status' });
}

const RIVAL = 'node-problem-detector';

/** Another controller applies a condition of the same type. */
export function rival(world: World, { name }: NodeTruth, type: string, status: 'True' | 'False' | 'Unknown'): void {
  const body = { apiVersion: 'v1', kind: 'Node', metadata: { name }, status: { conditions: [{ type, status }] } };
  world.nodes.patch({ kind: 'apply', name, manager: RIVAL, body, force: true, subresource: 'status' });
}

/** It goes, and takes the condition along. */
export function removeCondition(world: World, { name }: NodeTruth, type: string): void {
  const index = indexOf(world, name, type);
  if (index < 0) return;
  const body = [{ op: 'remove', path: `/status/conditions/${index}` }];
  world.nodes.patch({ kind: 'json', name, manager: RIVAL, body, subresource: 'status' });
}

function indexOf({ nodes }: World, name: string, type: string): number {
  return nodes.get(name)?.status?.conditions?.findIndex((condition) => condition.type === type) ?? -1;
}

export function untaint(world: World, truth: NodeTruth, gone: string): void {
  setTaints(world, truth, (taints) => taints.filter(({ key }) => key !== gone));
}

function setTaints(world: World, { name }: NodeTruth, change: (taints: readonly Taint[]) => Taint[]): void {
  const taints = change(world.nodes.get(name)?.spec?.taints ?? []);
  world.nodes.patch({
    kind: 'merge',
    name,
    manager: PERSON,
    body: { spec: { taints: taints.length > 0 ? taints : null } },
  });
}

/**
 * Sets a key that may be theirs or ours: a key without an owner is the person's from now on, what is ours stays ours. Where
 * rollcall may be about to change whose it is, that is left open until the key is deleted.
 */
export function claim(
  world: World,
  truth: NodeTruth,
  { kind, key, value, list }: { kind: 'label' | 'annotation'; key: string; value: string | null; list?: string },
): void {
  const id = `${kind}:${key}`;
  const { metadata } = world.nodes.get(truth.name) ?? { metadata: undefined };
  const there = (kind === 'label' ? metadata?.labels : metadata?.annotations)?.[key];
  const listed =
    list !== undefined &&
    [JSON.stringify(key), JSON.stringify(`label:${key}`)].some((text) => metadata?.annotations?.[list]?.includes(text));
  const quiet = world.wantedOfLate(truth.name, id).every((want) => want === undefined);
  const known = truth.claims.get(id);
  truth.editedMs.set(id, world.nowMs);
  if (value === null) truth.claims.delete(id);
  else if (known === undefined && (there === undefined || kind === 'annotation') && quiet && !listed)
    truth.claims.set(id, 'foreign');
  else if (known === undefined && !(listed && !quiet)) truth.claims.set(id, 'open');
  edit(world, truth, kind === 'label' ? { labels: { [key]: value } } : { annotations: { [key]: value } });
}
