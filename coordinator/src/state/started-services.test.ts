import { SERVICES_STARTED_ANNOTATION } from '@rollcall/common/well-known.ts';
import { expect, test } from 'vitest';
import { serviceOf } from '../model/services.test-fixtures.ts';
import { formatStartedServices, hasStarted, startedServices } from './started-services.ts';

const noted = (text?: string) => ({
  uid: 'node',
  annotations: text === undefined ? {} : { [SERVICES_STARTED_ANNOTATION]: text },
});

test('what a node says of services that were ready once is read as it was written, in one order', () => {
  const services = new Map([
    ['b', 'uid-b'],
    ['a', 'uid-a'],
  ]);
  const text = formatStartedServices('node', services);
  expect(text).toBe('{"node":"node","services":{"a":"uid-a","b":"uid-b"}}');
  expect([...startedServices(noted(text))]).toEqual([
    ['a', 'uid-a'],
    ['b', 'uid-b'],
  ]);
  expect(formatStartedServices('node', new Map())).toBeUndefined();
});

test.each([
  ['nothing', undefined],
  ['another Node', '{"node":"other","services":{"a":"uid-a"}}'],
  ['no services', '{"node":"node","services":null}'],
  ['a text for services', '{"node":"node","services":"a"}'],
  ['no JSON', '{'],
  ['no text for a uid', '{"node":"node","services":{"a":1}}'],
])('%s says of no service that it was ready', (_what, text) => {
  expect([...startedServices(noted(text))]).toEqual([]);
});

test.each([
  ['of mode Startup', {}, true],
  ['that is evaluated on and on', { mode: 'Continuous' }, false],
  ['that is built in', { origin: serviceOf().origin }, false],
  ['that was created anew', { origin: { kind: 'object', uid: 'other' } }, false],
] as const)('a service %s has started once it was ready: %s', (_what, change, expected) => {
  const service = serviceOf('a', {
    mode: 'Startup',
    origin: { kind: 'object', uid: 'uid-a' },
    ...change,
  } as Parameters<typeof serviceOf>[1]);
  expect(hasStarted(service, new Map([['a', 'uid-a']]))).toBe(expected);
  expect(hasStarted(service, new Map())).toBe(false);
});
