import type { Base } from './base.ts';
import type { FirstTaintsOptions } from './decide/first-taints.ts';
import type { Fleet } from './fleet/fleet.ts';
import { podsOf } from './fleet/service-pods.ts';
import type { EventNews } from './follow/events/event-news.ts';
import { provenTaintIn } from './follow/status/service-status.ts';
import { serviceSubject } from './follow/status/service-status-keeper.ts';
import type { AcceptanceOptions } from './services/acceptance.ts';
import { type CatalogOptions, ServiceCatalog } from './services/catalog.ts';
import { tolerates } from './services/tolerations.ts';
import { KeyRegistry } from './setup/keys/key-registry.ts';
import type { Service } from './setup/services.ts';

type Given = Pick<AcceptanceOptions, 'impliedBy'> & { fleet: () => Fleet; onChange: CatalogOptions['onChange'] };

/** The services that are in force, as the configuration and what is watched want it. */
export function createCatalog(
  { config, keys, clock, logger }: Base,
  { impliedBy, fleet, onChange }: Given,
): ServiceCatalog {
  return new ServiceCatalog({
    builtIn: config.watchedServices,
    keys,
    otherKeys: new KeyRegistry(config),
    allowedPrefixes: config.servicesAllowedPrefixes,
    allowNoExecute: config.allowNoExecute,
    conditions: config.servicesConditions,
    allowedConditions: config.allowCondition,
    impliedBy,
    intolerantPod: (service) => intolerantPod(service, fleet()),
    podsRevision: () => fleet().servicePods.revision,
    clock,
    logger,
    onChange,
  });
}

function intolerantPod(service: Service, { servicePods }: Fleet): string | undefined {
  const { pods, publish } = service;
  const { taint } = publish;
  if (!pods || !taint) return undefined;
  const own = podsOf(service, [...servicePods.in(pods.namespace)]).filter(({ terminating }) => !terminating);
  const found = own.find(({ tolerations }) => !tolerates(tolerations, taint));
  return found && `${found.namespace}/${found.name}`;
}

/** What the first nodes of a taint are told by, and tell. */
export function firstTaintsOf(
  catalog: ServiceCatalog,
  { record, onProven }: { record: (news: EventNews) => void; onProven: () => void },
): Omit<FirstTaintsOptions, 'nodes'> {
  const objectOf = ({ name }: Service) => catalog.objects().find((object) => object.name === name);
  return {
    wasProven: (service, taint) => provenTaintIn(objectOf(service)?.status) === taint,
    onProven,
    onWaiting: (service) => {
      const object = objectOf(service);
      const message =
        'The taint is new: rollcall sets it on the first nodes only, until the service becomes ready on one of them';
      if (object) record({ subject: serviceSubject(object), type: 'Normal', reason: 'TaintWaits', message });
    },
  };
}
