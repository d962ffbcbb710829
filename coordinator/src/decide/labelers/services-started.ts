import { SERVICES_STARTED_ANNOTATION } from '@rollcall/common/well-known.ts';
import type { Service } from '../../model/services.ts';
import {
  formatStartedServices,
  startedServices,
  startedUid,
  startText,
  wasReady,
} from '../../state/started-services.ts';
import { type Labeler, ownNote } from './labeler.ts';

export type ServicesStartedOptions = {
  services: () => readonly Service[];
  /** Uids of the NodeServices that exist, in force or not. */
  serviceUids: () => ReadonlySet<string>;
};

/**
 * Notes on the node which NodeServices were ready there once, and with which generation: those of mode Startup are not
 * evaluated there again, those with a startup deadline are never late, be it set later, and a taint that closed the node
 * from its birth has a budget from then on. A note stays as long as its NodeService exists, whatever becomes of the object
 * meanwhile.
 */
export function servicesStartedLabeler({ services, serviceUids }: ServicesStartedOptions): Labeler {
  return {
    name: 'services-started',
    claims: (node) => {
      const before = startedServices(node);
      const started = new Map<string, string>();
      for (const service of services()) {
        const { name, origin, dryRun } = service;
        if (origin.kind !== 'object' || dryRun) continue;
        const isReady = node.readiness.get(name)?.state === 'ready';
        if (wasReady(service, before)) started.set(name, before.get(name) ?? '');
        else if (isReady) started.set(name, startText(origin));
      }
      const exist = serviceUids();
      const isToStay = (uid: string) => exist.has(uid) || !node.servicesKnown;
      for (const [name, text] of before) if (!started.has(name) && isToStay(startedUid(text))) started.set(name, text);
      const value = formatStartedServices(node.uid, started);
      const reason = value ? 'lists services that were ready on the node once' : 'no service was ready on the node';
      return ownNote(node, SERVICES_STARTED_ANNOTATION, { value, reason });
    },
  };
}
