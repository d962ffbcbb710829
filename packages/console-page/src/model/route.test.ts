import fc from 'fast-check';
import { expect, test } from 'vitest';
import { hashOf, type Route, routeOf } from './route.ts';

test('an address that was made is understood, whatever the name', () => {
  const name = fc.oneof(
    fc.string({ minLength: 1 }),
    fc.constantFrom('%', '%41', '../..', '<script>', '%E0%A4%A', '#/node/x'),
  );
  fc.assert(
    fc.property(name, fc.constantFrom('node', 'service'), (text, view) => {
      const route: Route = { view: view as 'node' | 'service', name: text };
      expect(routeOf(hashOf(route))).toEqual(route);
    }),
  );
  for (const view of ['fleet', 'services', 'plan', 'ledger'] as const)
    expect(routeOf(hashOf({ view }))).toEqual({ view });
});

test('an address that is none leads to the fleet', () => {
  for (const hash of ['', '#', '#/', '#/nothing', '#/node', '#/node/', 'node/x'])
    expect(routeOf(hash)).toEqual({ view: 'fleet' });
  expect(routeOf('#/node/%E0%A4%A')).toEqual({ view: 'node', name: '%E0%A4%A' });
});
