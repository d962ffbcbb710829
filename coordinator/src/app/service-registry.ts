import { CaFile } from '@rollcall/common/ca-file.ts';
import type { Logger } from '@rollcall/common/logging.ts';
import type { RuleDirectory } from '../decide/rules/files/rule-directory.ts';
import type { Toleration } from '../kube/objects.ts';
import type { CoordinatorConfig } from '../model/config.ts';
import { KeyRegistry } from '../model/keys/key-registry.ts';
import { gitpodServices, podsChecksOf, type Service, type ServiceTaint } from '../model/services.ts';
import { type ObservedPod, podsOf } from '../state/observed-pod.ts';
import type { PodsByNamespace } from '../state/pods-by-namespace.ts';
import { ServiceRegistry } from '../state/services/service-registry.ts';
import type { ReplicaContext } from './replica-context.ts';

type Given = { servicePods: PodsByNamespace<ObservedPod>; rules: RuleDirectory | undefined };

/** The services that are in force, as the configuration and what is watched want it. */
export function createServiceRegistry(
  { config, keys, clock, logger }: ReplicaContext,
  { servicePods, rules }: Given,
): ServiceRegistry {
  return new ServiceRegistry({
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
  const { taint } = service.publish;
  if (!taint) return undefined;
  const namespaces = new Set(podsChecksOf(service).map(({ pods }) => pods.namespace));
  const all = [...namespaces].flatMap((namespace) => [...servicePods.in(namespace)]);
  const own = podsOf(service, all).filter(({ terminating }) => !terminating);
  const found = own.find(({ tolerations }) => !tolerates(tolerations, taint));
  return found && `${found.namespace}/${found.name}`;
}

/** The same limit as in a NodeService, so that the list of services stays small. */
const CA_BYTES_MAX = 32 * 1024;

/** Throws CERTIFICATE_INVALID at first where the file has no CA certificates; returns `undefined` without a file. */
export function registryFacadeCa(
  { registryFacadeCaFile: file }: Pick<CoordinatorConfig, 'registryFacadeCaFile'>,
  logger: Logger,
): CaFile | undefined {
  const ca = file === undefined ? undefined : new CaFile(file, logger, CA_BYTES_MAX);
  ca?.current();
  return ca;
}

/** Returns a function that reads the CA of registry-facade again, and sends it to agents when it has changed. */
export function followRegistryFacadeCa(
  { config, logger }: ReplicaContext,
  serviceRegistry: ServiceRegistry,
): () => void {
  const ca = registryFacadeCa(config, logger);
  let known: string | undefined;
  return () => {
    const caBundle = ca?.current();
    if (caBundle === known) return;
    known = caBundle;
    serviceRegistry.setBuiltIn(gitpodServices(config, caBundle));
  };
}

/** Whether one of these tolerates a taint, as kube-scheduler sees it. */
export function tolerates(tolerations: readonly Toleration[], taint: ServiceTaint): boolean {
  return tolerations.some(({ key = '', operator = 'Equal', value = '', effect = '' }) => {
    if (effect !== '' && effect !== taint.effect) return false;
    if (key === '') return operator === 'Exists';
    return key === taint.key && (operator === 'Exists' || value === taint.value);
  });
}
