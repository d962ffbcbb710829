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
};

/** What is noted on the node: the stance, and the services with their uids. */
function noted({ services = [CSI], others = [], ready = [], noted, known = true }: Given): string | undefined {
  const annotations = noted ? { [SERVICES_STARTED_ANNOTATION]: JSON.stringify({ node: 'u', services: noted }) } : {};
  const readiness: EvaluatedNode['readiness'] = new Map(
    services.map(({ name }) => [
      name,
      { state: ready.includes(name) ? 'ready' : 'not-ready', reason: '', cause: 'agent', sinceMs: 0 },
    ]),
  );
  const node = { ...snapshot({ annotations, servicesKnown: known }), readiness, ageMs: 0 };
  const [claim] = servicesStartedLabeler({ services: () => services, serviceUids: () => new Set(others) }).claims(node);
  return claim && `${claim.stance} ${claim.value}`;
}

test('a service of mode Startup is noted with its uid once it is ready, and stays so when it is not', () => {
  expect(noted({})).toBeUndefined();
  const note = 'present {"node":"u","services":{"csi":"csi-uid"}}';
  expect(noted({ ready: ['csi'] })).toBe(note);
  expect(noted({ noted: { csi: 'csi-uid' } })).toBe(note);
});

test('a service with a startup deadline is noted as well', () => {
  const services = [serviceOf('csi', { startupDeadlineMs: 1, origin: object('csi-uid') })];
  const note = 'present {"node":"u","services":{"csi":"csi-uid"}}';
  expect(noted({ services })).toBeUndefined();
  expect(noted({ services, ready: ['csi'] })).toBe(note);
  expect(noted({ services, noted: { csi: 'csi-uid' } })).toBe(note);
});

test('one of the same name that was there before is another', () => {
  expect(noted({ noted: { csi: 'old' } })).toBe('absent ');
  expect(noted({ noted: { csi: 'old' }, ready: ['csi'] })).toBe('present {"node":"u","services":{"csi":"csi-uid"}}');
});

test('services that are evaluated all the time, or that are built in, are not noted', () => {
  const services = [serviceOf('a', { origin: object('a') }), serviceOf('b', { mode: 'Startup' })];
  expect(noted({ services, ready: ['a', 'b'] })).toBeUndefined();
});

test('one that exists stays noted whatever becomes of it, refused or evaluated on and on', () => {
  const note = 'present {"node":"u","services":{"csi":"csi-uid"}}';
  expect(noted({ services: [], others: ['csi-uid'], noted: { csi: 'csi-uid' } })).toBe(note);
  const services = [serviceOf('csi', { mode: 'Continuous', origin: object('csi-uid') })];
  expect(noted({ services, others: ['csi-uid'], noted: { csi: 'csi-uid' } })).toBe(note);
  expect(noted({ services: [], others: ['new'], noted: { csi: 'csi-uid' } })).toBe('absent ');
});

test('one that is gone is struck out, but not while not all services are known', () => {
  expect(noted({ noted: { csi: 'csi-uid', gone: 'x' } })).toBe('present {"node":"u","services":{"csi":"csi-uid"}}');
  expect(noted({ noted: { csi: 'csi-uid', gone: 'x' }, known: false })).toBe(
    'present {"node":"u","services":{"csi":"csi-uid","gone":"x"}}',
  );
  expect(noted({ ready: ['csi'], noted: { csi: 'old' }, known: false })).toBe(
    'present {"node":"u","services":{"csi":"csi-uid"}}',
  );
});
