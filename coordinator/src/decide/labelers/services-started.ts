import { SERVICES_STARTED_ANNOTATION } from '@rollcall/common/well-known.ts';
import type { Service } from '../../model/services.ts';
import { hasTaint } from '../../state/observed-node.ts';
import {
  formatStartedServices,
  isStartNoted,
  provenTaints,
  startedServices,
  taintText,
  wasReady,
} from '../../state/started-services.ts';
import { type Labeler, ownNote } from './labeler.ts';

export type ServicesStartedOptions = {
  services: () => readonly Service[];
  /** Uids of the NodeServices that exist, in force or not. */
  serviceUids: () => ReadonlySet<string>;
};

/**
 * Notes on the node which services of mode Startup, or with a startup deadline, were ready there once: the former are not
 * evaluated there again, and the latter are never late. Notes also which taints the node had while their service was ready
 * there: from then on every node may get them. A note stays as long as its NodeService exists, whatever becomes of the
 * object meanwhile.
 */
export function servicesStartedLabeler({ services, serviceUids }: ServicesStartedOptions): Labeler {
  return {
    name: 'services-started',
    claims: (node) => {
      const before = startedServices(node);
      const started = new Map<string, string>();
      const taints = new Map<string, string>();
      for (const service of services()) {
        const { name, origin, publish } = service;
        if (origin.kind !== 'object') continue;
        const isReady = node.readiness.get(name)?.state === 'ready';
        if (isReady && publish.taint && hasTaint(node.taints, publish.taint))
          taints.set(origin.uid, taintText(publish.taint));
        if (isStartNoted(service) && (isReady || wasReady(service, before))) started.set(name, origin.uid);
      }
      const exist = serviceUids();
      const isToStay = (uid: string) => exist.has(uid) || !node.servicesKnown;
      for (const [name, uid] of before) if (!started.has(name) && isToStay(uid)) started.set(name, uid);
      for (const [uid, taint] of provenTaints(node)) if (!taints.has(uid) && isToStay(uid)) taints.set(uid, taint);
      const value = formatStartedServices(node.uid, started, taints);
      const reason = value ? 'lists services that were ready on the node once' : 'no service has to be ready only once';
      return ownNote(node, SERVICES_STARTED_ANNOTATION, { value, reason });
    },
  };
}
