import type { RuleDirectory } from '../decide/rules/files/rule-directory.ts';
import { KeyRegistry } from '../model/keys/key-registry.ts';
import type { Service } from '../model/services.ts';
import type { ObservedPod } from '../state/observed-pod.ts';
import type { PodsByNamespace } from '../state/pods-by-namespace.ts';
import { podsOf } from '../state/service-pods.ts';
import { ServiceCatalog } from '../state/services/catalog.ts';
import { tolerates } from '../state/services/tolerations.ts';
import { provenTaintIn } from '../subscribers/status/service-status.ts';
import type { Base } from './base.ts';

type Given = { servicePods: PodsByNamespace<ObservedPod>; rules: RuleDirectory | undefined };

/** The services that are in force, as the configuration and what is watched want it. */
export function createCatalog({ config, keys, clock, logger }: Base, { servicePods, rules }: Given): ServiceCatalog {
  return new ServiceCatalog({
    builtIn: config.watchedServices,
    keys,
    otherKeys: new KeyRegistry(config),
    allowedPrefixes: config.servicesAllowedPrefixes,
    allowNoExecute: config.allowNoExecute,
    conditions: config.servicesConditions,
    allowedConditions: config.allowCondition,
    impliedBy: (labels) => rules?.ruleSet.dependents(labels) ?? new Set(),
    intolerantPod: (service) => intolerantPod(service, servicePods),
    podsRevision: () => servicePods.revision,
    clock,
    logger,
  });
}

function intolerantPod(service: Service, servicePods: PodsByNamespace<ObservedPod>): string | undefined {
  const { pods, publish } = service;
  const { taint } = publish;
  if (!pods || !taint) return undefined;
  const own = podsOf(service, [...servicePods.in(pods.namespace)]).filter(({ terminating }) => !terminating);
  const found = own.find(({ tolerations }) => !tolerates(tolerations, taint));
  return found && `${found.namespace}/${found.name}`;
}

/** Whether the status of the NodeService records that its taint was seen to go. */
export function wasProven(catalog: ServiceCatalog, service: Service, taint: string): boolean {
  return provenTaintIn(catalog.objects().find(({ name }) => name === service.name)?.status) === taint;
}
