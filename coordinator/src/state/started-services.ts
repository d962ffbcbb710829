import { SERVICES_STARTED_ANNOTATION } from '@rollcall/common/well-known.ts';
import type { Service } from '../model/services.ts';
import { objectIn, parseAnnotation, sortedObject, textsIn } from './json-annotation.ts';

type Noted = { uid: string; annotations: Readonly<Record<string, string>> };

/** What a node notes: by the uid of which Node, and services by name. */
type Note = { node: unknown; services: ReadonlyMap<string, string> };

const NOTHING: Note = { node: undefined, services: new Map() };
const parsed = new WeakMap<object, Note>();

/**
 * The NodeServices, by name, that the node itself says were ready on it once, each with its uid and its generation at that
 * time, as `startText` has it; none where it is of another Node.
 */
export function startedServices(node: Noted): ReadonlyMap<string, string> {
  return noteOf(node).services;
}

function noteOf({ uid, annotations }: Noted): Note {
  const text = annotations[SERVICES_STARTED_ANNOTATION];
  if (text === undefined) return NOTHING;
  let note = parsed.get(annotations);
  if (!note) {
    const { node, services } = objectIn(parseAnnotation(text));
    note = { node, services: new Map(textsIn(services)) };
    parsed.set(annotations, note);
  }
  return note.node === uid ? note : NOTHING;
}

/** Always the same text for the same entries; `undefined` where there are none. */
export function formatStartedServices(node: string, services: ReadonlyMap<string, string>): string | undefined {
  return services.size === 0 ? undefined : JSON.stringify({ node, services: sortedObject(services) });
}

/** Whether anything depends now on when the service was ready on a node for the first time. */
export function isStartAwaited({ mode, startupDeadlineMs, origin }: Service): boolean {
  return origin.kind === 'object' && (mode === 'Startup' || startupDeadlineMs !== undefined);
}

/** How a node notes that a service is ready on it for the first time: what it is now counts, whatever becomes of it. */
export function startText({ uid, generation }: { uid: string; generation: number }): string {
  return `${uid}:${generation}`;
}

/** The uid of a NodeService in such a note. */
export function startedUid(text: string): string {
  return text.split(':', 1)[0] ?? '';
}

/** The generation with which a service was ready on the node for the first time; `undefined` if it never was. */
export function startedGeneration({ name, origin }: Service, started: ReadonlyMap<string, string>): number | undefined {
  const text = started.get(name);
  if (text === undefined || origin.kind !== 'object' || startedUid(text) !== origin.uid) return undefined;
  return Number(text.slice(origin.uid.length + 1));
}

/** Whether a node was open for a service before the service was not ready there: what is older, or was ready once. */
export function wasOpen(node: Noted & { createdAtMs: number }, service: Service): boolean {
  return !isYounger(node, service) || wasReady(service, startedServices(node));
}

/** Creation times have seconds. */
function isYounger({ createdAtMs }: { createdAtMs: number }, { origin }: Service): boolean {
  return origin.kind === 'object' && createdAtMs > (origin.inForceSinceMs ?? origin.createdAtMs);
}

/** Whether a service was ready on the node once, by what the Node records. */
export function wasReady(service: Service, started: ReadonlyMap<string, string>): boolean {
  return startedGeneration(service, started) !== undefined;
}

/** Whether a service of mode Startup was ready on the node once, so that it is evaluated there no more. */
export function hasStarted(service: Service, started: ReadonlyMap<string, string>): boolean {
  return service.mode === 'Startup' && wasReady(service, started);
}
