import type { FullReport, Heartbeat } from '@rollcall/common/report.ts';
import { describe, expect, test } from 'vitest';
import { ReportLedger } from './report-ledger.ts';

const since = '2026-01-01T00:00:00Z';

function heartbeat(boot: string, sequence: number, digest = 'd1'): Heartbeat {
  return { node: 'n', boot, sequence, digest };
}

function full(boot: string, sequence: number, options: { ready?: boolean; digest?: string } = {}): FullReport {
  const services = [{ name: 'ws-daemon', ready: options.ready ?? true, since, evidence: 'tcp' }];
  return { ...heartbeat(boot, sequence, options.digest), services, devices: [], facts: {} };
}

function identity(issuedAtSeconds: number, nodeUid = 'u') {
  return { node: 'n', nodeUid, issuedAtSeconds };
}

describe('one agent', () => {
  test('is heard by heartbeats once its content is known', () => {
    const ledger = new ReportLedger();
    expect(ledger.admit(heartbeat('a', 1), identity(1), false)).toBe('unknown-digest');
    expect(ledger.admit(full('a', 2), identity(1), false)).toBe('content');
    expect(ledger.admit(heartbeat('a', 3), identity(1), false)).toBe('heartbeat');
    expect(ledger.admit(heartbeat('a', 4, 'd2'), identity(1), false)).toBe('unknown-digest');
  });

  test('cannot go back: an old or repeated sequence is ignored', () => {
    const ledger = new ReportLedger();
    ledger.admit(full('a', 5), identity(1), false);
    expect(ledger.admit(full('a', 5, { ready: false }), identity(1), false)).toBe('ignored');
    expect(ledger.admit(full('a', 4, { ready: false }), identity(1), false)).toBe('ignored');
    expect(ledger.content('n')?.services[0]?.ready).toBe(true);
  });

  test('that says goodbye is taken at its word', () => {
    const ledger = new ReportLedger();
    ledger.admit(full('a', 1), identity(1), false);
    expect(ledger.admit({ ...heartbeat('a', 2), leaving: true }, identity(1), false)).toBe('leaving');
  });
});

describe('two agents that overlap', () => {
  test('the newer takes over, and the older is never accepted again', () => {
    const ledger = new ReportLedger();
    ledger.admit(full('old', 100), identity(10), false);
    expect(ledger.admit(full('new', 1, { ready: false }), identity(20), false)).toBe('content');
    expect(ledger.admit(full('old', 101), identity(30), false)).toBe('ignored');
    expect(ledger.admit(full('old', 102), identity(30), true)).toBe('ignored');
    expect(ledger.content('n')?.services[0]?.ready).toBe(false);
  });

  test('the later token wins, whichever comes first at a new leader', () => {
    const ledger = new ReportLedger();
    ledger.admit(full('new', 7), identity(20), false);
    expect(ledger.admit(full('old', 100, { ready: false }), identity(10), false)).toBe('ignored');
    expect(ledger.admit(heartbeat('new', 8), identity(20), false)).toBe('heartbeat');
  });

  test('a restarted container of the same pod has the same token, and takes over', () => {
    const ledger = new ReportLedger();
    ledger.admit(full('a', 100), identity(10), false);
    expect(ledger.admit(full('b', 1), identity(10), false)).toBe('content');
  });

  test('an agent with an older token is heard when the one that counted left or fell silent', () => {
    const ledger = new ReportLedger();
    ledger.admit(full('new', 1), identity(20), false);
    expect(ledger.admit(full('old', 1), identity(10), true)).toBe('content');
    const other = new ReportLedger();
    other.admit({ ...full('new', 1), leaving: true }, identity(20), false);
    expect(other.admit(full('old', 1), identity(10), false)).toBe('content');
  });

  test('what the first saw stays true until the second has said what it sees', () => {
    const ledger = new ReportLedger();
    ledger.admit(full('old', 1), identity(10), false);
    expect(ledger.admit(heartbeat('new', 1), identity(20), false)).toBe('unknown-digest');
    expect(ledger.content('n')?.services).toHaveLength(1);
  });
});

describe('a device that many machines have', () => {
  const device = (serial: string) => ({ bus: 'usb' as const, attributes: { vendor: '18d1', serial } });
  let sequence = 0;
  const admit = (ledger: ReportLedger, node: string, serial: string) => {
    sequence += 1;
    const report = { ...full('a', sequence), node, devices: [device(serial)] };
    ledger.admit(report, { ...identity(1), node }, false);
    return ledger.content(node)?.devices[0];
  };

  test('is kept once, unless it is described at length', () => {
    const ledger = new ReportLedger();
    expect(admit(ledger, 'n', 'x')).toBe(admit(ledger, 'm', 'x'));
    const long = 'x'.repeat(500);
    expect(admit(ledger, 'n', long)).not.toBe(admit(ledger, 'm', long));
    expect(admit(ledger, 'n', long)).toEqual(device(long));
  });

  test('is remembered only among so many', () => {
    const ledger = new ReportLedger();
    const first = admit(ledger, 'n', 'x');
    for (let index = 0; index < 10_000; index += 1) admit(ledger, 'm', String(index).padEnd(440, '-'));
    expect(admit(ledger, 'o', 'x')).not.toBe(first);
  });
});

test('what a report repeats is kept once', () => {
  const ledger = new ReportLedger();
  const report = (sequence: number, cpu = 'x') => ({ ...full('a', sequence), facts: { cpu } });
  ledger.admit(report(1), identity(1), false);
  const before = ledger.content('n');
  ledger.admit(report(2), identity(1), false);
  expect(ledger.content('n')?.facts).toBe(before?.facts);
  expect(ledger.content('n')?.devices).toBe(before?.devices);
  expect(ledger.content('n')?.services).toBe(before?.services);
  expect(ledger.content('n')?.unread).toBe(before?.unread);
  ledger.admit(report(3, 'y'), identity(1), false);
  expect(ledger.content('n')?.facts).toEqual({ cpu: 'y' });
});

test('a Node that came back under the same name inherits nothing', () => {
  const ledger = new ReportLedger();
  ledger.admit(full('a', 9), identity(10, 'first'), false);
  expect(ledger.admit(heartbeat('b', 1), identity(5, 'second'), false)).toBe('unknown-digest');
  expect(ledger.content('n')).toBeUndefined();
});
