import { SERVICES_STARTED_ANNOTATION } from '@rollcall/common/well-known.ts';
import { expect, test } from 'vitest';
import { serviceOf } from '../../model/services.test-fixtures.ts';
import type { Service } from '../../model/services.ts';
import { snapshot } from '../readiness/readiness.test-fixtures.ts';
import type { EvaluatedNode } from './labeler.ts';
import { servicesStartedLabeler } from './services-started.ts';

const object = (uid: string) => ({ kind: 'object', uid, generation: 1, createdAtMs: 0 }) as const;
const CSI = serviceOf('csi', { mode: 'Startup', origin: object('csi-uid') });

type Given = {
  services?: Service[];
  /** Uids of NodeServices that exist beside these, without being in force. */
  others?: string[];
  ready?: string[];
  noted?: Record<string, string>;
  known?: boolean;
  createdAtMs?: number;
};

/** What is noted on the node: the stance, and the services with their uids. */
function noted({
  services = [CSI],
  others = [],
  ready = [],
  noted,
  known = true,
  createdAtMs = 0,
}: Given): string | undefined {
  const text = noted && JSON.stringify({ node: 'u', services: noted });
  const annotations = text ? { [SERVICES_STARTED_ANNOTATION]: text } : {};
  const readiness: EvaluatedNode['readiness'] = new Map(
    services.map(({ name }) => [
      name,
      { state: ready.includes(name) ? 'ready' : 'not-ready', reason: '', cause: 'agent', sinceMs: 0 },
    ]),
  );
  const node = { ...snapshot({ annotations, servicesKnown: known, createdAtMs }), readiness, ageMs: 0 };
  const [claim] = servicesStartedLabeler({ services: () => services, serviceUids: () => new Set(others) }).claims(node);
  return claim && `${claim.stance} ${claim.value}`;
}

test('a service of mode Startup is noted with its uid once it is ready, and stays so when it is not', () => {
  expect(noted({})).toBeUndefined();
  const note = 'present {"node":"u","services":{"csi":"csi-uid:1"}}';
  expect(noted({ ready: ['csi'] })).toBe(note);
  expect(noted({ noted: { csi: 'csi-uid:1' } })).toBe(note);
});

test('a service that is checked all the time is noted as well: a startup deadline may be set later', () => {
  const services = [serviceOf('csi', { origin: object('csi-uid') })];
  const note = 'present {"node":"u","services":{"csi":"csi-uid:1"}}';
  expect(noted({ services })).toBeUndefined();
  expect(noted({ services, ready: ['csi'] })).toBe(note);
  expect(noted({ services, noted: { csi: 'csi-uid:1' } })).toBe(note);
});

test('a service with a taint is noted on nodes that are older and younger than it', () => {
  const taint = { key: 'example.com/no-csi', value: 'x', effect: 'NoSchedule' } as const;
  const services = [serviceOf('csi', { publish: { taint }, origin: { ...object('csi-uid'), createdAtMs: 0 } })];
  for (const createdAtMs of [0, 1000])
    expect(noted({ services, ready: ['csi'], createdAtMs })).toBe(
      'present {"node":"u","services":{"csi":"csi-uid:1"}}',
    );
});

test('one of the same name that was there before is another', () => {
  expect(noted({ noted: { csi: 'old:1' } })).toBe('absent ');
  expect(noted({ noted: { csi: 'old:1' }, ready: ['csi'] })).toBe(
    'present {"node":"u","services":{"csi":"csi-uid:1"}}',
  );
});

test('the generation with which it was ready first stays noted when it is edited', () => {
  const services = [serviceOf('csi', { mode: 'Startup', origin: { ...object('csi-uid'), generation: 2 } })];
  expect(noted({ services, ready: ['csi'], noted: { csi: 'csi-uid:1' } })).toContain('"csi":"csi-uid:1"');
  expect(noted({ services, ready: ['csi'] })).toContain('"csi":"csi-uid:2"');
});

test('services that are built in are not noted', () => {
  expect(noted({ services: [serviceOf('b', { mode: 'Startup' })], ready: ['b'] })).toBeUndefined();
});

test('one that exists stays noted whatever becomes of it, refused or evaluated on and on', () => {
  const note = 'present {"node":"u","services":{"csi":"csi-uid:1"}}';
  expect(noted({ services: [], others: ['csi-uid'], noted: { csi: 'csi-uid:1' } })).toBe(note);
  const services = [serviceOf('csi', { mode: 'Continuous', origin: object('csi-uid') })];
  expect(noted({ services, others: ['csi-uid'], noted: { csi: 'csi-uid:1' } })).toBe(note);
  expect(noted({ services: [], others: ['new'], noted: { csi: 'csi-uid:1' } })).toBe('absent ');
});

test('one that is gone is struck out, but not while not all services are known', () => {
  expect(noted({ noted: { csi: 'csi-uid:1', gone: 'x:1' } })).toBe(
    'present {"node":"u","services":{"csi":"csi-uid:1"}}',
  );
  expect(noted({ noted: { csi: 'csi-uid:1', gone: 'x:1' }, known: false })).toBe(
    'present {"node":"u","services":{"csi":"csi-uid:1","gone":"x:1"}}',
  );
  expect(noted({ ready: ['csi'], noted: { csi: 'old:1' }, known: false })).toBe(
    'present {"node":"u","services":{"csi":"csi-uid:1"}}',
  );
});
