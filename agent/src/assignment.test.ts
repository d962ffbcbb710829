import { FakeClock } from '@rollcall/common/fake-clock.ts';
import { beforeEach, expect, test } from 'vitest';
import { Assignment } from './assignment.ts';
import { formatTarget } from './probes/probe.ts';
import { ProbePaths } from './probes/probe-paths.ts';
import type { WatchedService } from './probes/service-list.ts';
import type { ServiceSettings } from './probes/service-settings.ts';

const TIMING = { periodMs: 1000, timeoutMs: 1000, failureThreshold: 3, successThreshold: 1 };
const SETTINGS: ServiceSettings[] = [
  { name: 'ws-daemon', port: 8080, spec: { kind: 'tcp' }, ...TIMING },
  { name: 'registry-facade', port: 31750, spec: { kind: 'https' }, ...TIMING },
];

/** What was watched, one after the other. */
let watched: { at: Record<string, string>; told: boolean }[];
let assignment: Assignment;
let failure: Error | undefined;

function place(service: WatchedService): string {
  return 'refusal' in service ? service.refusal : formatTarget(service.target);
}

beforeEach(() => {
  watched = [];
  failure = undefined;
  assignment = new Assignment({
    services: {
      watch: (services, told) => {
        if (failure) throw failure;
        watched.push({ at: Object.fromEntries(services.map((each) => [each.name, place(each)])), told });
      },
    },
    settings: SETTINGS,
    hostIp: '10.0.0.7',
    ownPort: 8086,
    clock: new FakeClock(),
    caFrom: () => () => undefined,
    paths: new ProbePaths([]),
  });
  assignment.start();
});

const OWN = { 'ws-daemon': '10.0.0.7:8080', 'registry-facade': '10.0.0.7:31750' };

test('before the first reply, services are watched as the flags say, and nobody has told so', () => {
  expect(watched).toEqual([{ at: OWN, told: false }]);
});

test('the list of a reply replaces the one before, and one that is the same changes nothing', () => {
  const target = { host: '10.1.0.9', port: 8080 };
  for (let time = 0; time < 2; time += 1) {
    assignment.take({ services: [{ name: 'ws-daemon', target, podAddresses: ['10.1.0.9'] }] });
  }
  assignment.take({ services: [] });
  expect(watched.slice(1)).toEqual([
    { at: { 'ws-daemon': '10.1.0.9:8080' }, told: true },
    { at: {}, told: true },
  ]);
});

test('a list is named by the digest that came with it, and stays where the next one cannot be taken', () => {
  expect(assignment.digest).toBeUndefined();
  assignment.take({ services: [{ name: 'ws-daemon' }], servicesDigest: 'one' });
  assignment.take({});
  expect(assignment.digest).toBe('one');
  const watchedBefore = watched.length;
  failure = new Error('No');
  expect(() => assignment.take({ services: [], servicesDigest: 'two' })).toThrow('No');
  expect(assignment.digest).toBe('one');
  failure = undefined;
  assignment.take({ services: [], servicesDigest: 'two' });
  expect(assignment.digest).toBe('two');
  expect(watched.slice(watchedBefore)).toEqual([{ at: {}, told: true }]);
  // The same list by another name is not watched anew.
  assignment.take({ services: [], servicesDigest: 'three' });
  expect([assignment.digest, watched.length]).toEqual(['three', watchedBefore + 1]);
});

test('the answer to a report that did not count says nothing about the flags', () => {
  assignment.take({ newSession: true });
  expect(watched).toHaveLength(1);
});

test('a reply that says nothing means what the flags say, or what another reply has said', () => {
  assignment.take({});
  expect(watched.slice(1)).toEqual([{ at: OWN, told: true }]);
  assignment.take({ services: [{ name: 'ws-daemon' }] });
  assignment.take({});
  expect(watched.slice(2)).toEqual([{ at: { 'ws-daemon': '10.0.0.7:8080' }, told: true }]);
});

test('the port of the agent itself is refused', () => {
  const target = { host: '127.0.0.1', port: 8086 };
  assignment.take({ services: [{ name: 'x', probe: { kind: 'tcp' }, target }] });
  expect(watched.at(-1)?.at).toEqual({ x: 'not at 127.0.0.1:8086: the agent itself listens there' });
});
