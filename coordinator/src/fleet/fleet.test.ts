import { FakeClock } from '@rollcall/common/fake-clock.ts';
import type { FullReport } from '@rollcall/common/report.ts';
import { expect, test } from 'vitest';
import { Fleet } from './fleet.ts';

const NODE = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n', uid: 'u', resourceVersion: '1' } };

function heardFleet() {
  const clock = new FakeClock();
  const news: string[] = [];
  const fleet = new Fleet({
    clock,
    services: [],
    poolLabels: [],
    windowMs: 30_000,
    guardPercent: 55,
    annotationsOfInterest: new Set(),
    allAnnotations: false,
    onDirty: (_node, urgent) => news.push(urgent ? 'urgent' : 'normal'),
    onNodeGone: () => {},
    onAgentPodGone: () => {},
  });
  fleet.nodeHandlers.onReplace([fleet.observe(NODE)]);
  news.length = 0;
  let sequence = 0;
  const report = (serial: string, ready = true) => {
    sequence += 1;
    const services = [{ name: 'ws-daemon', ready, since: '2026-01-01T00:00:00Z', evidence: 'tcp' }];
    const devices = [{ bus: 'usb' as const, attributes: { serial } }];
    const full: FullReport = {
      node: 'n',
      boot: 'b',
      sequence,
      digest: `${serial}${ready}`,
      services,
      devices,
      facts: {},
    };
    fleet.accept(full, { node: 'n', nodeUid: 'u' });
    return news.splice(0);
  };
  const tick = () => {
    fleet.tick();
    return news.splice(0);
  };
  const serial = () => fleet.snapshot('n')?.machine?.devices[0]?.attributes['serial'];
  expect(report('first')).toEqual(['urgent']);
  // Every node is looked at once when the fleet is known.
  tick();
  return { clock, fleet, report, tick, serial };
}

test('a report that is other as far as a service goes is urgent, and one about hardware alone is not', async () => {
  const { clock, report } = heardFleet();
  await clock.advance(2000);
  expect(report('first', false)).toEqual(['urgent']);
  expect(report('second', false)).toEqual(['normal']);
  expect(report('second', false)).toEqual([]);
});

test('hardware that keeps changing is looked at once a second, and services beside it at once', async () => {
  const { clock, report, tick, serial, fleet } = heardFleet();
  const news = Array.from({ length: 20 }, (_, index) => report(`x${index}`)).flat();
  expect(news).toEqual(['normal', 'normal', 'normal', 'normal']);
  expect(report('last', false)).toEqual(['urgent']);
  expect(fleet.snapshot('n')?.services.get('ws-daemon')?.ready).toBe(false);
  expect(serial()).toBe('x3');
  await clock.advance(1000);
  expect(tick()).toEqual(['normal']);
  expect(serial()).toBe('last');
  expect(tick()).toEqual([]);
});
