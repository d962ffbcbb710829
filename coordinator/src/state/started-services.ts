import { SERVICES_STARTED_ANNOTATION } from '@rollcall/common/well-known.ts';
import type { Service } from '../model/services.ts';
import { objectIn, parseAnnotation, sortedObject, textsIn } from './json-annotation.ts';

type Noted = { uid: string; annotations: Readonly<Record<string, string>> };

/** Uids of the NodeServices, by name, that the node itself says were ready on it once; none where it is of another Node. */
export function startedServices({ uid, annotations }: Noted): ReadonlyMap<string, string> {
  const text = annotations[SERVICES_STARTED_ANNOTATION];
  if (text === undefined) return NONE;
  const { node, services } = objectIn(parseAnnotation(text));
  return node === uid ? new Map(textsIn(services)) : NONE;
}

const NONE: ReadonlyMap<string, string> = new Map();

/** Always the same text for the same services; `undefined` where there are none. */
export function formatStartedServices(node: string, services: ReadonlyMap<string, string>): string | undefined {
  if (services.size === 0) return undefined;
  return JSON.stringify({ node, services: sortedObject(services) });
}

/** Whether a service was ready on the node once, by what the Node records; it is recorded where something depends on it. */
export function wasReady({ name, origin }: Service, started: ReadonlyMap<string, string>): boolean {
  return origin.kind === 'object' && started.get(name) === origin.uid;
}

/** Whether a service of mode Startup was ready on the node once, so that it is evaluated there no more. */
export function hasStarted(service: Service, started: ReadonlyMap<string, string>): boolean {
  return service.mode === 'Startup' && wasReady(service, started);
}
