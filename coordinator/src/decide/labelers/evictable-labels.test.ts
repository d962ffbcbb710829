import { WITHDRAWN_LABELS_ANNOTATION } from '@rollcall/common/well-known.ts';
import { expect, test } from 'vitest';
import type { Cause } from '../../model/inventory/cause.ts';
import { serviceOf } from '../../model/services.test-fixtures.ts';
import { type ServiceReadiness, UNJUDGED } from '../readiness/tracker.ts';
import { evictableLabels } from './evictable-labels.ts';

const services = () => [serviceOf('cache', { publish: { label: 'svc.example/cache' } })];
const rules = () => ({ dependents: (labels: Iterable<string>) => new Set([...labels].map((label) => `of ${label}`)) });
const withdrawn = { 'svc.example/cache': 'true', 'of svc.example/cache': 'true', tier: 'gold' };
const node = { labels: { zone: 'a' }, annotations: { [WITHDRAWN_LABELS_ANNOTATION]: JSON.stringify(withdrawn) } };

const mayEvict = () => true;

function evictable(verdict: Partial<ServiceReadiness> | undefined, may = mayEvict): string[] {
  const shown = new Map(verdict ? [['cache', { ...UNJUDGED, ...verdict }]] : []);
  const { labels, withdrawn } = evictableLabels(node, () => shown, { services, rules, mayEvict: may });
  expect(labels).toBe(node.labels);
  return Object.keys(withdrawn);
}

test.each<Cause>(['evidence', 'agent'])('pods go for the label of a service that failed by %s', (cause) => {
  expect(evictable({ state: 'not-ready', cause })).toEqual(Object.keys(withdrawn));
});

test.each<Cause>(['silence', 'damping', 'configuration', 'unknown'])(
  'no pod is evicted because of %s, neither for the label of a service nor for what rules make of it',
  (cause) => {
    expect(evictable({ state: 'not-ready', cause })).toEqual(['tier']);
  },
);

test('no pod goes for the label of a service that is ready, that is not known, or that does not apply to the node', () => {
  expect(evictable({ state: 'ready', cause: 'agent' })).toEqual(['tier']);
  expect(evictable({ state: 'unknown', cause: 'unknown' })).toEqual(['tier']);
  expect(evictable(undefined)).toEqual(['tier']);
});

test('no pod goes for a label that was of a service, and that no service in force publishes, or that rules made of it', () => {
  const annotations = { ...node.annotations, 'rollcall.dev/keys': '{"label:svc.example/cache":"service:old"}' };
  const of = (publish: { label: string }) =>
    Object.keys(
      evictableLabels(
        { ...node, annotations },
        () => new Map([['cache', { ...UNJUDGED, state: 'not-ready', cause: 'evidence' }]]),
        { services: () => [serviceOf('cache', { publish })], rules, mayEvict },
      ).withdrawn,
    );
  expect(of({ label: 'svc.example/renamed' })).toEqual(['tier']);
  expect(of({ label: 'svc.example/cache' })).toEqual(Object.keys(withdrawn));
});

test('no pod goes for a label that the Node notes as the label of a service, where none in force publishes it', () => {
  const text = JSON.stringify({ ...withdrawn, '/services': { 'svc.example/cache': true } });
  const annotations = { [WITHDRAWN_LABELS_ANNOTATION]: text };
  const found = evictableLabels({ ...node, annotations }, () => new Map(), { services: () => [], rules, mayEvict });
  expect(Object.keys(found.withdrawn)).toEqual(['tier']);
});

test('no pod goes for the label of a service beyond its budget, nor for what rules make of it', () => {
  expect(evictable({ state: 'not-ready', cause: 'agent' }, () => false)).toEqual(['tier']);
});

test('a node from which nothing was withdrawn is not evaluated for it', () => {
  const evaluated = () => expect.unreachable('evaluated for nothing');
  const { withdrawn } = evictableLabels({ labels: {}, annotations: {} }, evaluated, { services, rules, mayEvict });
  expect(withdrawn).toEqual({});
});
