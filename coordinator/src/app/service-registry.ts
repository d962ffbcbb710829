import { CaFile } from '@rollcall/common/ca-file.ts';
import type { Logger } from '@rollcall/common/logging.ts';
import type { RuleDirectory } from '../decide/rules/files/rule-directory.ts';
import type { CoordinatorConfig } from '../model/config.ts';
import { KeyRegistry } from '../model/keys/key-registry.ts';
import { gitpodServices } from '../model/services.ts';
import { ServiceRegistry } from '../state/services/service-registry.ts';
import type { ReplicaContext } from './replica-context.ts';

/** The services that are in force, as the configuration and what is watched want it. */
export function createServiceRegistry(
  { config, keys, clock, logger }: ReplicaContext,
  rules: RuleDirectory | undefined,
): ServiceRegistry {
  return new ServiceRegistry({
    builtIn: config.watchedServices,
    keys,
    otherKeys: new KeyRegistry(config),
    allowedPrefixes: config.servicesAllowedPrefixes,
    allowNoExecute: config.allowNoExecute,
    conditions: config.servicesConditions,
    allowedConditions: config.allowCondition,
    agents: config.agents,
    agentProbesPerSecond: config.agentProbesPerSecond,
    impliedBy: (labels) => rules?.files.dependents(labels) ?? new Set(),
    clock,
    logger,
  });
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
