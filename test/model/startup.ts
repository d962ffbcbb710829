import { SERVICES_STARTED_ANNOTATION } from '@rollcall/common/well-known.ts';
import type { Node } from '@rollcall/coordinator/kube/objects.ts';
import { inForce } from './acceptance.ts';
import type { NodeServiceObject } from './node-services.ts';
import { startedNoteOn } from './started-note.ts';
import type { NodeTruth } from './truth.ts';
import type { Verdict } from './verdicts.ts';
import { ANY, type Want } from './want.ts';
import type { World } from './world.ts';

/** §10: evaluated until first ready on this node, and then left. */
export function isStarted({ started }: NodeTruth, { uid, spec }: NodeServiceObject): boolean {
  return spec.startup === true && started.has(uid);
}

/** Uids of the NodeServices that a Node records as ready once. */
export function startedOn(object: Node): string[] {
  const { node, services = {} } = startedNoteOn(object);
  return node === object.metadata.uid ? Object.values(services) : [];
}

/** Whether a node came after the NodeService, or after its dry run: its taint is there from birth until it is ready. */
export function isYounger(
  { metadata }: Node,
  { createdAtMs, inForceSinceMs = createdAtMs }: NodeServiceObject,
): boolean {
  return Date.parse(metadata.creationTimestamp ?? '') > inForceSinceMs;
}

/** §10: remembered on the Node by uid of the object as long as the object exists, whatever becomes of it meanwhile. */
export function wantStarted(
  wants: Map<string, Want>,
  { world, truth, verdicts }: { world: World; truth: NodeTruth; verdicts: ReadonlyMap<string, Verdict> },
): void {
  const services = [...world.services.values()];
  const accepted = new Set(inForce(world));
  const evaluated = services.map((service) => ({
    service,
    verdict: accepted.has(service) && !service.spec.dryRun && verdicts.get(service.name),
  }));
  const listed = evaluated.filter(({ service, verdict }) => truth.started.has(service.uid) || verdict === 'ready');
  const fresh = evaluated.filter(({ service }) => !truth.started.has(service.uid));
  // Of two, one may be recorded before the other.
  const isOpen =
    fresh.some(({ verdict }) => verdict === 'open') || fresh.filter(({ verdict }) => verdict === 'ready').length > 1;
  const entries = listed.map(({ service: { name, uid } }) => [name, uid]).toSorted();
  const note = JSON.stringify({ node: truth.uid, services: Object.fromEntries(entries) });
  wants.set(
    `annotation:${SERVICES_STARTED_ANNOTATION}`,
    isOpen || world.serviceWrites.areLost ? ANY : entries.length > 0 ? note : undefined,
  );
}
