import { expect, test } from 'vitest';
import { serviceOf } from '../model/services.test-fixtures.ts';
import type { ProbeCheck, Service } from '../model/services.ts';
import { nodeRecord } from './node-record.test-fixtures.ts';
import { doubtsOfTargets, faultOf } from './shared-faults.ts';

const CHECK: ProbeCheck = {
  name: 'api',
  kind: 'probe',
  id: 'network/api',
  settings: { spec: { kind: 'kubernetesService' }, periodMilliseconds: 10_000, timeoutMilliseconds: 1000 },
};
/** One period, one time-out, and 2 s. */
const COUNTED_MS = 13_000;
const WINDOW_MS = 30_000;

/** A fleet that has the check, of whose nodes some fail it. */
function stage(size: number, check: ProbeCheck = CHECK) {
  const records = Array.from({ length: size }, (_, index) => {
    return nodeRecord(`node-${index}`, `node-${index}`, { presence: { expectedMs: 0, heardMs: 0 } });
  });
  const failing = new Set<string>();
  const unknown = new Set<string>();
  const silent = new Set<string>();
  const changed: string[] = [];
  const since = new Map<string, string>();
  let services: Service[] = [serviceOf('network', { checks: [check] })];
  let isKnown = true;
  const faults = doubtsOfTargets(
    {
      guardPercent: 55,
      windowMs: WINDOW_MS,
      services: () => services,
      reports: ({ name }) => {
        const report = {
          name: check.id,
          ready: !failing.has(name),
          since: since.get(name) ?? '',
          evidence: '',
          digest: 'd',
        };
        if (silent.has(name)) return new Map();
        return new Map([[check.id, unknown.has(name) ? { ...report, ready: false, unknown: true as const } : report]]);
      },
      isKnown: () => isKnown,
      onChange: (node) => changed.push(node),
    },
    () => records,
  );
  const recordOf = (name: string) => records.find((record) => record.name === name) ?? nodeRecord();
  return {
    failing,
    unknown,
    silent,
    faults,
    /** Whether most agents were heard. */
    know: (isSo: boolean) => {
      isKnown = isSo;
    },
    fail: (...indexes: number[]) => {
      for (const index of indexes) failing.add(`node-${index}`);
    },
    setServices: (next: Service[]) => {
      services = next;
    },
    tick: (nowMs: number) => {
      changed.length = 0;
      faults.tick({ monotonicMs: nowMs, wallMs: nowMs });
      return [...changed];
    },
    since,
    of: (index: number) =>
      faultOf(faults, check, { record: recordOf(`node-${index}`), since: since.get(`node-${index}`) ?? '' }),
  };
}

test('a failure on one node counts once others with the same fault had the time to report it', () => {
  const { fail, failing, tick, of } = stage(10);
  expect(tick(0)).toEqual([]);
  fail(3);
  expect(of(3)).toBe('failing');
  expect(tick(1000)).toEqual(['node-3']);
  expect(tick(1000 + COUNTED_MS - 1)).toEqual([]);
  expect(of(3)).toBe('failing');
  expect(tick(1000 + COUNTED_MS)).toEqual(['node-3']);
  expect(of(3)).toBeUndefined();
  failing.clear();
  expect(tick(20_000)).toEqual(['node-3']);
});

test('a failure that followed a pass between two ticks has a time of its own', () => {
  const { fail, since, tick, of } = stage(10);
  fail(3);
  tick(0);
  tick(COUNTED_MS);
  since.set('node-3', 'later');
  expect(of(3)).toBe('failing');
  expect(tick(14_000)).toEqual(['node-3']);
  expect(of(3)).toBe('failing');
  tick(14_000 + COUNTED_MS);
  expect(of(3)).toBeUndefined();
});

test('a check with a long period waits for a silence window at most', () => {
  const { fail, tick, of } = stage(10, { ...CHECK, settings: { ...CHECK.settings, periodMilliseconds: 3_600_000 } });
  fail(3);
  tick(0);
  tick(WINDOW_MS);
  expect(of(3)).toBeUndefined();
});

test('a failure on most nodes is held against none of them, also not where it counted before', () => {
  const { fail, tick, of, faults } = stage(10);
  fail(0);
  tick(0);
  tick(COUNTED_MS);
  fail(1, 2, 3, 4);
  tick(14_000);
  expect(faults.held()).toEqual([]);
  fail(5);
  expect(tick(15_000)).toEqual(['node-0', 'node-1', 'node-2', 'node-3', 'node-4', 'node-5']);
  expect(faults.held()).toEqual([{ subject: 'target', of: 'network/api', nodes: 6 }]);
  tick(600_000);
  expect([of(0), of(5)]).toEqual(['shared', 'shared']);
  // It has not been counted yet.
  fail(6);
  expect(of(6)).toBe('shared');
});

test('what still fails when the guard ends has its time from then on', () => {
  const { fail, failing, tick, of, faults } = stage(10);
  fail(0, 1, 2, 3, 4, 5);
  tick(0);
  tick(60_000);
  failing.delete('node-5');
  expect(tick(61_000)).toHaveLength(6);
  expect([faults.held(), of(0)]).toEqual([[], 'failing']);
  tick(61_000 + COUNTED_MS);
  expect(of(0)).toBeUndefined();
});

test('two nodes that fail are at fault, although they are all', () => {
  const { fail, tick, of } = stage(2);
  fail(0, 1);
  tick(0);
  tick(COUNTED_MS);
  expect([of(0), of(1)]).toEqual([undefined, undefined]);
});

test('only nodes count whose live agent knows', () => {
  const { fail, unknown, silent, tick, of } = stage(10);
  fail(0, 1, 2);
  for (const index of [4, 5, 6]) unknown.add(`node-${index}`);
  tick(0);
  tick(COUNTED_MS);
  expect(of(0)).toBeUndefined();
  for (const index of [7, 8, 9]) silent.add(`node-${index}`);
  tick(20_000);
  expect(of(0)).toBe('shared');
});

test('a node that was silent meanwhile begins anew', () => {
  const { fail, silent, tick, of } = stage(10);
  fail(3);
  tick(0);
  silent.add('node-3');
  tick(1000);
  silent.clear();
  tick(COUNTED_MS);
  expect(of(3)).toBe('failing');
});

test('after an outage of the API server every failure begins anew, and waits for most agents to be heard', () => {
  const { fail, tick, of, faults, know } = stage(10);
  fail(3);
  tick(0);
  faults.renewAll(0);
  know(false);
  // Few agents may have been heard by then.
  for (const nowMs of [1000, COUNTED_MS + 1000, WINDOW_MS - 1]) {
    tick(nowMs);
    expect(of(3)).toBe('failing');
  }
  know(true);
  tick(WINDOW_MS);
  expect(of(3)).toBeUndefined();
});

test('checks of another kind are the fault of their node', () => {
  const check: ProbeCheck = { ...CHECK, settings: { spec: { kind: 'tcp' }, port: 80 } };
  const { fail, tick, of, faults } = stage(3, check);
  fail(0, 1, 2);
  expect(tick(0)).toEqual([]);
  expect([of(0), faults.held()]).toEqual([undefined, []]);
});

test('a check that is renamed goes on being shared, and two that ask the same are one', () => {
  const { fail, tick, of, faults, setServices } = stage(3);
  fail(0, 1, 2);
  tick(0);
  const twice = [{ ...CHECK, name: 'again' }, CHECK];
  setServices([serviceOf('network', { checks: twice })]);
  tick(COUNTED_MS);
  expect([faults.held().length, of(0)]).toEqual([1, 'shared']);
});

test('what is known of a check is forgotten with it', () => {
  const { fail, tick, of, faults, setServices } = stage(3);
  fail(0, 1, 2);
  tick(0);
  setServices([]);
  tick(1000);
  expect([faults.held(), of(0)]).toEqual([[], 'failing']);
});

test('a check of a dry run alone sets off no guard, and so no Event, alert or failure of kubectl rollcall status', () => {
  const { fail, faults, tick, setServices } = stage(4);
  const { publish, ...network } = serviceOf('network', { checks: [CHECK] });
  setServices([{ ...network, publish: {}, dryRun: publish }]);
  fail(0, 1, 2, 3);
  tick(0);
  tick(1000);
  expect(faults.held()).toEqual([]);
});
