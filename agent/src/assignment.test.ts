import { FakeClock } from '@rollcall/common/testing/fake-clock.ts';
import { beforeEach, expect, test } from 'vitest';
import { Assignment } from './agent.ts';
import { formatTarget } from './probes/probe.ts';
import { ProbePaths } from './probes/probe-paths.ts';
import type { WatchedService } from './probes/service-list.ts';

const TCP = { kind: 'tcp', port: 8080 };

/** The services that were watched, one list after the other. */
let watched: Record<string, string>[];
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
      watch: (services) => {
        if (failure) throw failure;
        watched.push(Object.fromEntries(services.map((each) => [each.name, place(each)])));
      },
    },
    timing: { periodMs: 1000, timeoutMs: 1000, failureThreshold: 3, successThreshold: 1 },
    hostIp: '10.0.0.7',
    ownPort: 8086,
    clock: new FakeClock(),
    paths: new ProbePaths([]),
  });
});

test('nothing is watched before a coordinator has sent a list, whatever else it says', () => {
  assignment.take({});
  expect(watched).toEqual([]);
  assignment.take({ services: [{ name: 'ws-daemon', digest: 'd', probe: TCP }] });
  assignment.take({});
  expect(watched).toEqual([{ 'ws-daemon': '10.0.0.7:8080' }]);
});

test('the list of a reply replaces the one before, and one that is the same changes nothing', () => {
  const target = { host: '10.1.0.9', port: 8080 };
  for (let time = 0; time < 2; time += 1) {
    assignment.take({ services: [{ name: 'ws-daemon', digest: 'd', probe: TCP, target, podAddresses: ['10.1.0.9'] }] });
  }
  assignment.take({ services: [] });
  expect(watched).toEqual([{ 'ws-daemon': '10.1.0.9:8080' }, {}]);
});

test('a list is named by the digest that came with it, and stays where the next one cannot be taken', () => {
  expect(assignment.digest).toBeUndefined();
  assignment.take({ services: [{ name: 'ws-daemon', digest: 'd', probe: TCP }], servicesDigest: 'one' });
  assignment.take({});
  expect(assignment.digest).toBe('one');
  failure = new Error('No');
  expect(() => assignment.take({ services: [], servicesDigest: 'two' })).toThrow('No');
  expect(assignment.digest).toBe('one');
  failure = undefined;
  assignment.take({ services: [], servicesDigest: 'two' });
  expect(assignment.digest).toBe('two');
  expect(watched.slice(1)).toEqual([{}]);
  // The same list by another name is not watched anew.
  assignment.take({ services: [], servicesDigest: 'three' });
  expect([assignment.digest, watched.length]).toEqual(['three', 2]);
});

test('the port of the agent itself is refused', () => {
  const target = { host: '127.0.0.1', port: 8086 };
  assignment.take({ services: [{ name: 'x', digest: 'd', probe: { kind: 'tcp' }, target }] });
  expect(watched).toEqual([{ x: 'not at 127.0.0.1:8086: the agent itself listens there' }]);
});
