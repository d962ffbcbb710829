import { SERVICES_STARTED_ANNOTATION } from '@rollcall/common/well-known.ts';
import { formatStartedServices, hasStarted, startedServices } from '../../fleet/started-services.ts';
import type { Service } from '../../setup/services.ts';
import type { Labeler } from './labeler.ts';
import { ownNote } from './own-note.ts';

/** Notes on the node which services of mode Startup were ready there once: they are not judged there again. */
export function servicesStartedLabeler(services: () => readonly Service[]): Labeler {
  return {
    name: 'services-started',
    claims: (node) => {
      const before = startedServices(node);
      const started = new Map<string, string>();
      for (const service of services()) {
        const { mode, name, origin } = service;
        if (mode !== 'Startup' || origin.kind !== 'object') continue;
        const isReady = node.readiness.get(name)?.state === 'ready';
        if (isReady || hasStarted(service, before)) started.set(name, origin.uid);
      }
      // What is noted of services that are not known yet stays.
      if (!node.servicesKnown) for (const [name, uid] of before) started.set(name, started.get(name) ?? uid);
      const value = formatStartedServices(node.uid, started);
      const reason = value ? 'lists services that were ready on the node once' : 'no service has to be ready only once';
      return ownNote(node, SERVICES_STARTED_ANNOTATION, { value, reason });
    },
  };
}
