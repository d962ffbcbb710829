import { CaFile } from '@rollcall/common/ca-file.ts';
import type { Logger } from '@rollcall/common/logging.ts';
import type { RuleDirectory } from '../decide/rules/files/rule-directory.ts';
import type { Toleration } from '../kube/objects.ts';
import type { CoordinatorConfig } from '../model/config.ts';
import { KeyRegistry } from '../model/keys/key-registry.ts';
import { gitpodServices, podsChecksOf, type Service, type ServiceTaint } from '../model/services.ts';
import { type ObservedPod, podsOf } from '../state/observed-pod.ts';
import type { PodsByNamespace } from '../state/pods-by-namespace.ts';
import type { KeyClaims } from '../state/services/acceptance.ts';
import { ServiceRegistry } from '../state/services/service-registry.ts';
import type { ReplicaContext } from './replica-context.ts';

type Given = {
  servicePods: PodsByNamespace<ObservedPod>;
  rules: RuleDirectory | undefined;
  claims: () => KeyClaims;
};

/** The services that are in force, as the configuration and what is watched want it. */
export function createServiceRegistry(
  { config, keys, clock, logger }: ReplicaContext,
  { servicePods, rules, claims }: Given,
): ServiceRegistry {
  const kindsIn = podKinds(servicePods);
  return new ServiceRegistry({
    builtIn: config.watchedServices,
    keys,
    otherKeys: new KeyRegistry(config),
    allowedPrefixes: config.servicesAllowedPrefixes,
    allowNoExecute: config.allowNoExecute,
    conditions: config.servicesConditions,
    allowedConditions: config.allowCondition,
    agentProbesPerSecond: config.agentProbesPerSecond,
    // A rule that gives a label to no Node yet is a newcomer: it is refused instead.
    impliedBy: (labels) =>
      new Set(
        [...(rules?.files.dependents(labels) ?? [])].filter((key) => claims().isOnNodes('label', key, 'rule:service')),
      ),
    claims,
    intolerantPod: (service) => intolerantPod(service, kindsIn),
    podsRevision: () => servicePods.revision,
    clock,
    logger,
  });
}

type PodsIn = (namespace: string) => readonly ObservedPod[];

/** One pod for each kind: pods of a namespace with the same labels, tolerations and DaemonSet, terminating or not. */
function podKinds(servicePods: PodsByNamespace<ObservedPod>): PodsIn {
  const known = new Map<string, readonly ObservedPod[]>();
  let revision = -1;
  return (namespace) => {
    if (revision !== servicePods.revision) known.clear();
    revision = servicePods.revision;
    const before = known.get(namespace);
    if (before) return before;
    // Equal labels and tolerations are the same object.
    const kinds = new Map<object, Map<object, Map<string, ObservedPod>>>();
    for (const pod of servicePods.in(namespace)) {
      const ofLabels = kinds.get(pod.labels) ?? new Map<object, Map<string, ObservedPod>>();
      kinds.set(pod.labels, ofLabels);
      const alike = ofLabels.get(pod.tolerations) ?? new Map<string, ObservedPod>();
      ofLabels.set(pod.tolerations, alike);
      const rest = `${pod.terminating} ${pod.daemonSet}`;
      if (!alike.has(rest)) alike.set(rest, pod);
    }
    const found = [...kinds.values()].flatMap((each) => [...each.values()].flatMap((alike) => [...alike.values()]));
    known.set(namespace, found);
    return found;
  };
}

function intolerantPod(service: Service, podsIn: PodsIn): string | undefined {
  const { taint } = service.publish;
  if (!taint) return undefined;
  const namespaces = new Set(podsChecksOf(service).map(({ pods }) => pods.namespace));
  const all = [...namespaces].flatMap(podsIn);
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
