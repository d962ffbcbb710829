import { FakeClock } from '@rollcall/common/testing/fake-clock.ts';
import { expect, test } from 'vitest';
import { stage } from '../controller/node-controller.test-fixtures.ts';
import { podsCheck, publishing, serviceOf } from '../model/services.test-fixtures.ts';
import type { Service } from '../model/services.ts';
import type { ObservedNodeService } from '../state/services/node-service.ts';
import type { ServiceStatus } from '../subscribers/status/service-status.ts';
import { createServiceStatusController } from '../subscribers/status/service-status-controller.ts';
import { statusControllerRig } from '../subscribers/status/status-controller.test-fixtures.ts';

const NODES = 300;

/** Work takes time. */
class BusyClock extends FakeClock {
  override monotonic(): number {
    this.standStill(0.1);
    return super.monotonic();
  }
}

test('a status counts no part of the nodes, while not all of them were evaluated', async () => {
  const service = serviceOf('new', {
    checks: [podsCheck('ws-daemon')],
    publish: publishing('example.com/new', 'example.com/not-new'),
  });
  let services: Service[] = [];
  const clock = new BusyClock();
  const { addNode, servicePod, fleet, evaluator, controller } = stage({ services: () => services, clock });
  const names = Array.from({ length: NODES }, (_, index) => `n${index}`);
  for (const name of names) addNode(name);
  // On the last one there is no pod.
  for (const name of names.slice(0, -1)) servicePod(name);
  for (let turn = 0; turn < 100; turn += 1) await new Promise((resolve) => setImmediate(resolve));

  const { clock: statusClock, requests, writes } = statusControllerRig();
  const object = { name: 'new', uid: 'u', generation: 1, service, status: undefined } as unknown as ObservedNodeService;
  const status = createServiceStatusController({
    writes,
    fleet,
    evaluator,
    serviceRegistry: {
      all: { all: () => [object], noteStatus: () => {} },
      isJudged: () => true,
      refusalOf: () => undefined,
    } as never,
    problemOf: () => undefined,
    isCounting: () => controller.isCatchingUp,
  });
  services = [service];
  controller.servicesChanged([]);
  for (let turn = 0; turn < 200; turn += 1) {
    await statusClock.advance(1000);
    await status.tick();
    await new Promise((resolve) => setImmediate(resolve));
  }
  const said = requests.map(({ body }) => (body as { status: ServiceStatus }).status);
  expect(said.map(({ nodes, conditions }) => [nodes.selected, conditions[1]?.status])).toContainEqual([NODES, 'False']);
  expect(said.filter(({ nodes }) => nodes.selected !== NODES).map(({ conditions }) => conditions[1])).toEqual([]);
});
