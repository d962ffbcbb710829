import { silentLogger } from '@rollcall/common/logging.ts';
import { FakeClock } from '@rollcall/common/testing/fake-clock.ts';
import type { NodeService } from '../../kube/objects.ts';
import { registryOf } from '../../model/keys/key-registry.test-fixtures.ts';
import type { Service } from '../../model/services.ts';
import { type ObservedNodeService, observeNodeService } from './node-service.ts';
import { ServiceRegistry } from './service-registry.ts';

/** A NodeService with one check, and a label of its own. */
export function nodeService(
  name: string,
  spec: NodeService['spec'] = {},
  metadata: { uid?: string; generation?: number; creationTimestamp?: string } = {},
): ObservedNodeService {
  return observeNodeService({
    metadata: {
      name,
      uid: `uid-${name}`,
      resourceVersion: '1',
      generation: 1,
      creationTimestamp: '2026-01-01T00:00:00Z',
      ...metadata,
    },
    spec: { checks: [{ name: 'port', tcp: { port: 1 } }], ...spec },
  });
}

/** A serviceRegistry, and the names of the services in force. */
export function stage(builtIn: readonly Service[] = []) {
  const clock = new FakeClock();
  const keys = registryOf();
  let changes = 0;
  const serviceRegistry: ServiceRegistry = new ServiceRegistry({
    builtIn,
    keys,
    otherKeys: registryOf(),
    allowedPrefixes: [],
    allowNoExecute: false,
    conditions: true,
    allowedConditions: [],
    agents: true,
    agentProbesPerSecond: 50,
    impliedBy: () => new Set(),
    clock,
    logger: silentLogger(),
  });
  serviceRegistry.onChange(() => {
    changes += 1;
  });
  const namesOf = (services: readonly { name: string }[]) => services.map(({ name }) => name);
  return {
    clock,
    keys,
    serviceRegistry,
    changes: () => changes,
    inForce: () => namesOf(serviceRegistry.services()),
  };
}
