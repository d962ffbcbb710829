import { SERVICES_STARTED_ANNOTATION } from '@rollcall/common/well-known.ts';
import type { Node } from '@rollcall/coordinator/kube/objects.ts';

/** `services`: uids of those that were ready once, by name. */
type StartedNote = { node?: string; services?: Record<string, string> };

/** What a Node notes of the NodeServices that were ready on it, without their generations. */
export function startedNoteOn({ metadata }: Node): StartedNote {
  const note = JSON.parse(metadata.annotations?.[SERVICES_STARTED_ANNOTATION] ?? '{}') as StartedNote;
  const services = Object.entries(note.services ?? {}).map(([name, text]) => [name, text.split(':')[0]]);
  return note.services ? { ...note, services: Object.fromEntries(services) } : note;
}
