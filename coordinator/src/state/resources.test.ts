import { describe, expect, test } from 'vitest';
import { allocatableResources, requestsOf } from './resources.ts';

const MI = 1024 * 1024;
const container = (cpu?: string, memory?: string, more = {}) => ({
  resources: { requests: { ...(cpu && { cpu }), ...(memory && { memory }) } },
  ...more,
});
const asking = (cpu: string) => container(cpu, '1Mi');
const sidecar = { restartPolicy: 'Always' };

describe('a pod asks for', () => {
  test('what its containers ask for together', () => {
    const containers = [container('250m', '64Mi'), container('1', '1G')];
    expect(requestsOf({ containers })).toEqual({ cpu: 1.25, memory: 64 * MI + 1e9 });
  });

  test('what kube-scheduler takes it for, where a container does not say', () => {
    expect(requestsOf({ containers: [{}, container('1')] })).toEqual({ cpu: 1.1, memory: 400 * MI });
    expect(requestsOf({})).toEqual({ cpu: 0, memory: 0 });
  });

  test('what it takes to begin, where that is more, with the sidecars that run by then', () => {
    const containers = [asking('1')];
    expect(requestsOf({ containers, initContainers: [asking('3'), asking('2')] }).cpu).toBe(3);
    const late = [asking('3'), container('1', '1Mi', sidecar)];
    expect(requestsOf({ containers, initContainers: late }).cpu).toBe(3);
    expect(requestsOf({ containers, initContainers: late.toReversed() }).cpu).toBe(4);
    expect(requestsOf({ containers, initContainers: [container('3', '1Mi', sidecar)] }).cpu).toBe(4);
  });

  test.each([
    ['a number', 2, 2],
    ['a number below one', 0.5, 0.5],
    ['nothing', 0, 0],
    ['nothing, as a text', '0', 0],
    ['a number that is negative', -1, 0.1],
    ['a text that is empty', '', 0.1],
    ['a text that is negative', '-1', 0.1],
    ['null', null, 0.1],
    ['a list', [], 0.1],
  ])('what JSON says as %s', (_what, cpu, expected) => {
    expect(requestsOf({ containers: [{ resources: { requests: { cpu } } }] }).cpu).toBe(expected);
  });

  test('its overhead besides, and what it says as a whole instead of what its containers say', () => {
    const whole = { containers: [asking('1')], overhead: { cpu: '250m' }, resources: { requests: { cpu: '2' } } };
    expect(requestsOf(whole)).toEqual({ cpu: 2.25, memory: MI });
  });
});

test.each([
  [
    { cpu: '15890m', memory: '58Gi' },
    { cpu: 15.89, memory: 58 * 1024 * MI },
  ],
  [
    { cpu: '2e1', memory: '123456789' },
    { cpu: 20, memory: 123_456_789 },
  ],
  [
    { cpu: '500m', memory: '1' },
    { cpu: 0.5, memory: 1 },
  ],
  [{ cpu: '0', memory: '1Gi' }, undefined],
  [{ cpu: '1', memory: '0' }, undefined],
  [{ cpu: 'many', memory: '1Gi' }, undefined],
  [{ memory: '1Gi' }, undefined],
  [{ cpu: '1' }, undefined],
  [undefined, undefined],
])('a node that says %j can allocate %j', (quantities, expected) => {
  expect(allocatableResources(quantities as Record<string, string> | undefined)).toEqual(expected);
});

test.each([
  ['n', 1e-9],
  ['u', 1e-6],
  ['m', 1e-3],
  ['', 1],
  ['k', 1e3],
  ['M', 1e6],
  ['G', 1e9],
  ['T', 1e12],
  ['P', 1e15],
  ['E', 1e18],
  ['Ki', 1024],
  ['Mi', 1024 ** 2],
  ['Gi', 1024 ** 3],
  ['Ti', 1024 ** 4],
  ['Pi', 1024 ** 5],
  ['Ei', 1024 ** 6],
  ['e3', 1e3],
  ['E-2', 1e-2],
])('a quantity with the suffix "%s" is so many times %d', (suffix, unit) => {
  expect(allocatableResources({ cpu: `1.5${suffix}`, memory: '1' })?.cpu).toBeCloseTo(1.5 * unit, 12);
});
