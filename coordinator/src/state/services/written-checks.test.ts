import { checks } from '@rollcall/common/checks/checks.ts';
import { problemIn } from '@rollcall/common/checks/schema.ts';
import { expect, test } from 'vitest';
import { readChecks, type WrittenCheck } from './written-checks.ts';

const unknownOf = (written: unknown) => problemIn(checks, written, 'spec.checks');

const TIMES = { timeoutMilliseconds: 1000, failureThreshold: 3, successThreshold: 1 };
const PODS = { namespace: 'a', selector: { matchLabels: { app: 'a' } }, daemonSet: 'a' };
const probe = (spec: object, more: object = {}) => ({
  name: 'c',
  kind: 'probe',
  id: 'svc/c',
  settings: { spec, ...more, ...TIMES },
});
test.each<[object, object]>([
  [{ pods: PODS }, { name: 'c', id: 'svc/c', kind: 'pods', settings: PODS }],
  [{ csiNode: { driver: 'd' } }, { name: 'c', id: 'svc/c', kind: 'csiNode', settings: { driver: 'd' } }],
  [{ device: { name: 'gpu' } }, { name: 'c', id: 'svc/c', kind: 'device', settings: { name: 'gpu', minCount: 1 } }],
  [
    { device: { name: 'gpu', minCount: 8, driver: 'nvidia' } },
    { name: 'c', id: 'svc/c', kind: 'device', settings: { name: 'gpu', minCount: 8, driver: 'nvidia' } },
  ],
  [{ resource: { name: 'r' } }, { name: 'c', id: 'svc/c', kind: 'resource', settings: { name: 'r', min: 1 } }],
  [{ resource: { name: 'r', min: 2 } }, { name: 'c', id: 'svc/c', kind: 'resource', settings: { name: 'r', min: 2 } }],
  [{ dra: { driver: 'd' } }, { name: 'c', id: 'svc/c', kind: 'dra', settings: { driver: 'd', min: 1 } }],
  [
    { condition: { type: 'T', for: '1m' } },
    {
      name: 'c',
      id: 'svc/c',
      kind: 'condition',
      settings: { type: 'T', status: 'True', missing: 'Unknown', forMs: 60_000 },
    },
  ],
  [{ tcp: { port: 1 } }, probe({ kind: 'tcp' }, { port: 1 })],
  [{ tls: { port: 1, host: 'Node' } }, probe({ kind: 'tls' }, { port: 1, host: 'Node' })],
  [{ http2: { port: 1, host: 'Loopback' } }, probe({ kind: 'http2' }, { port: 1, host: 'Loopback' })],
  [
    { http: { port: 1, path: '/', headers: { a: 'b' }, expectedStatuses: ['401'], host: 'Pod' } },
    probe({ kind: 'http', path: '/', headers: { a: 'b' }, expectedStatuses: ['401'] }, { port: 1, host: 'Pod' }),
  ],
  [{ https: { port: 1, caBundle: 'x' } }, probe({ kind: 'https', caBundle: 'x' }, { port: 1 })],
  [{ grpc: { port: 1, service: 's' } }, probe({ kind: 'grpc', service: 's' }, { port: 1 })],
  [{ grpc: { socket: '/s' } }, probe({ kind: 'grpc', socket: '/s' })],
  [{ csi: { socket: '/s' } }, probe({ kind: 'csi', socket: '/s' })],
  [{ unix: { path: '/s' } }, probe({ kind: 'unix', path: '/s' })],
  [{ file: { path: '/f' } }, probe({ kind: 'file', path: '/f' })],
  [{ file: { path: '/f', maxAge: '1m30s' } }, probe({ kind: 'file', path: '/f', maxAge: '1m30s' })],
])('%j is read', (kind, check) => {
  const written = [{ name: 'c', ...kind }] as WrittenCheck[];
  expect(unknownOf(written)).toBeUndefined();
  expect(readChecks('svc', written)).toStrictEqual([check]);
});

test('times and thresholds of a probe are as they are written', () => {
  const times = { period: '500ms', timeout: '2s', failureThreshold: 5, successThreshold: 2 };
  const written = [{ name: 'c', tcp: { port: 1 }, ...times }];
  expect(unknownOf(written)).toBeUndefined();
  expect(readChecks('svc', written)[0]).toMatchObject({
    settings: { periodMilliseconds: 500, timeoutMilliseconds: 2000, failureThreshold: 5, successThreshold: 2 },
  });
});

test('a probe may name the check whose pods it asks', () => {
  const written = [{ name: 'c', tcp: { port: 1 }, of: 'pods' }];
  expect(unknownOf(written)).toBeUndefined();
  expect(readChecks('svc', written)).toStrictEqual([probe({ kind: 'tcp' }, { port: 1, of: 'pods' })]);
});

test('checks in anyOf are named by their place', () => {
  const written = [
    {
      name: 'any',
      anyOf: [
        { name: 'a', tcp: { port: 1 } },
        { name: 'b', csiNode: { driver: 'd' } },
      ],
    },
  ];
  expect(unknownOf(written)).toBeUndefined();
  expect(readChecks('svc', written as WrittenCheck[])).toMatchObject([
    {
      name: 'any',
      kind: 'anyOf',
      checks: [
        { name: 'a', id: 'svc/any/a' },
        { name: 'b', kind: 'csiNode' },
      ],
    },
  ]);
});

test.each<[object, string]>([
  [{}, '[1]'],
  [{ quic: { port: 1 } }, '[1].quic'],
  [{ tcp: { port: 1 }, udp: {} }, '[1].udp'],
  [{ tcp: { port: 1 }, unix: { path: '/' } }, '[1]'],
  [{ tcp: { port: 1, foo: 1 } }, '[1].tcp.foo'],
  [{ tcp: { port: 1, host: 'Service' } }, '[1].tcp.host'],
  [{ tcp: { port: 1 }, period: '1' }, '[1].period'],
  [{ tcp: { port: 1 }, jitter: '1s' }, '[1].jitter'],
  [{ http: { port: 1, method: 'HEAD' } }, '[1].http.method'],
  [{ http: { port: 1, caBundle: 'x' } }, '[1].http.caBundle'],
  [{ file: { path: '/', maxAge: 'soon' } }, '[1].file.maxAge'],
  [{ pods: { namespace: 'a', selector: {}, minReady: 2 } }, '[1].pods.minReady'],
  [{ pods: { namespace: 'a', selector: { matchLables: {} } } }, '[1].pods.selector.matchLables'],
  [{ csiNode: { driver: 'd', version: '1' } }, '[1].csiNode.version'],
  [{ device: { name: 'gpu', model: 'x' } }, '[1].device.model'],
  [{ resource: { name: 'r', max: 1 } }, '[1].resource.max'],
  [{ dra: {} }, '[1].dra.driver'],
  [{ anyOf: [{ name: 'a', tcp: { port: 1, foo: 1 } }] }, '[1].anyOf[0].tcp.foo'],
  [{ anyOf: [{ name: 'a', anyOf: [] }] }, '[1].anyOf[0].anyOf'],
  [{ anyOf: [], tcp: { port: 1 } }, '[1]'],
  [{ anyOf: {} }, '[1].anyOf'],
])('what is unknown of %j is named', (check, path) => {
  const written = [
    { name: 'known', tcp: { port: 1 } },
    { name: 'c', ...check },
  ];
  expect(unknownOf(written)).toBe(`spec.checks${path}`);
});
