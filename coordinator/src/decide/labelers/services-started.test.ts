import { SERVICES_STARTED_ANNOTATION } from '@rollcall/common/well-known.ts';
import { describe, expect, test } from 'vitest';
import { serviceOf } from '../../model/services.test-fixtures.ts';
import type { Service } from '../../model/services.ts';
import type { Taint } from '../../state/observed-node.ts';
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
  taints?: readonly Taint[] | undefined;
  /** The note as it is, instead of `noted`. */
  text?: string;
};

/** What is noted on the node: the stance, and the services with their uids. */
function noted({
  services = [CSI],
  others = [],
  ready = [],
  noted,
  known = true,
  taints,
  ...given
}: Given): string | undefined {
  const text = given.text ?? (noted && JSON.stringify({ node: 'u', services: noted }));
  const annotations = text ? { [SERVICES_STARTED_ANNOTATION]: text } : {};
  const readiness: EvaluatedNode['readiness'] = new Map(
    services.map(({ name }) => [
      name,
      { state: ready.includes(name) ? 'ready' : 'not-ready', reason: '', cause: 'agent', sinceMs: 0 },
    ]),
  );
  const node = { ...snapshot({ annotations, servicesKnown: known, taints }), readiness, ageMs: 0 };
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

describe('a taint', () => {
  const taint = { key: 'example.com/no-csi', value: 'x', effect: 'NoSchedule' } as const;
  const services = [serviceOf('csi', { publish: { taint }, origin: object('csi-uid') })];
  const service = '"services":{"csi":"csi-uid:1"}';
  const note = '{"node":"u","taints":{"csi-uid":"example.com/no-csi=x:NoSchedule"}}';
  const given = { services, others: ['csi-uid'], ready: ['csi'], taints: [taint] };

  test('is noted where the service is ready while the node has it, and stays noted', () => {
    expect(noted({ ...given, ready: [] })).toBeUndefined();
    expect(noted(given)).toBe(`present ${note.replace('"taints"', `${service},"taints"`)}`);
    expect(noted({ ...given, ready: [], taints: [], text: note })).toBe(`present ${note}`);
    expect(noted({ ...given, services: [], text: note })).toBe(`present ${note}`);
    expect(noted({ ...given, services: [], others: [], known: false, text: note })).toBe(`present ${note}`);
  });

  test('is not noted where the node does not have it, where it is not known, and when its NodeService is gone', () => {
    for (const taints of [[], [{ ...taint, value: 'y' }], undefined]) {
      expect(noted({ ...given, taints })).toBe(`present {"node":"u",${service}}`);
    }
    expect(noted({ services: [], text: note })).toBe('absent ');
  });

  test('is noted beside the services, and as it was last', () => {
    const startup = services.map((each): Service => ({ ...each, mode: 'Startup' }));
    expect(noted({ ...given, services: startup, text: note.replace('=x', '=old') })).toBe(
      'present {"node":"u","services":{"csi":"csi-uid:1"},"taints":{"csi-uid":"example.com/no-csi=x:NoSchedule"}}',
    );
  });
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
