import { afterEach, expect, test } from 'vitest';
import { snapshot } from '../decide/readiness/readiness.test-fixtures.ts';
import type { CoordinatorConfig } from '../model/config.ts';
import { surroundings } from './change-handlers.test-fixtures.ts';
import { createSubscribers } from './create-subscribers.ts';

const EVENTS = 'POST /api/v1/namespaces/default/events';
const stops: (() => void)[] = [];

afterEach(() => {
  for (const stop of stops.splice(0)) stop();
});

function followers(config: Partial<CoordinatorConfig> = {}) {
  const around = surroundings(config);
  stops.push(() => around.stop.abort());
  const all = createSubscribers({
    ...around.options,
    config: { ...around.options.config, readinessGate: 'label', ...config } as CoordinatorConfig,
    environment: { ownNamespace: 'rollcall', podName: 'coordinator-0', podIp: undefined },
    services: () => [],
    serviceRegistry: { objects: () => [] },
    mustYield: () => false,
  });
  return { ...around, ...all };
}

test('what the announcer tells becomes an Event', async () => {
  const { announcer, clock, requests } = followers();
  announcer.gateOpened(snapshot(), ['gpu']);
  await clock.advance(100);
  expect(requests).toEqual([EVENTS]);
});

test('in a dry run nothing becomes an Event', async () => {
  const { announcer, clock, requests } = followers({ dryRun: true });
  announcer.gateOpened(snapshot(), ['gpu']);
  await clock.advance(100);
  expect(requests).toEqual([]);
});

test('pods that lost their place are evicted, with an Event, and then nothing is under way', async () => {
  const { subscribers, clock, requests, setNode, settled } = followers({ evictionDelaySeconds: 0 });
  setNode({});
  subscribers.changed('n');
  await clock.advance(1000);
  expect(requests).toEqual(['POST /api/v1/namespaces/default/pods/p1/eviction', EVENTS]);
  await expect(settled()).resolves.toBeDefined();
});
