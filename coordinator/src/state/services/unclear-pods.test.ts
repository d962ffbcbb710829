import { expect, test } from 'vitest';
import { nodeService, stage } from './service-registry.test-fixtures.ts';

const PORT = { name: 'port', tcp: { port: 1 } };
const pods = (name: string) => ({ name, pods: { namespace: 'a', selector: { matchLabels: { app: name } } } });

/** Why a service with two checks of pods and these is refused, if it is. */
function refusalWith(...more: object[]): string | undefined {
  const { serviceRegistry } = stage();
  const object = nodeService('x', { checks: [pods('a'), pods('b'), ...more] });
  serviceRegistry.all.handlers().onReplace([object]);
  return serviceRegistry.refusalOf(object)?.message;
}

test('beside several checks of pods, a probe must name the one whose pods it asks', () => {
  expect(refusalWith(PORT)).toBe(
    'The check port does not say which pods it asks, and there are 2 checks of pods: set "of" to a or b',
  );
  expect(refusalWith({ name: 'any', anyOf: [PORT, pods('c')] })).toContain('set "of" to a or b or c');
  expect(refusalWith({ ...PORT, of: 'b' })).toBeUndefined();
  expect(refusalWith({ ...PORT, of: 'port' })).toBe(
    'The check port is of port, which is not the name of one check of pods: name one in "of"',
  );
  expect(refusalWith({ ...PORT, of: 'a' }, { name: 'any', anyOf: [pods('a')] })).toContain('not the name of one check');
});

test.each([
  ['the address of the node', { tcp: { port: 1, host: 'Node' } }],
  ['loopback', { tcp: { port: 1, host: 'Loopback' } }],
  ['a socket', { csi: { socket: '/s' } }],
  ['a name of DNS', { dns: {} }],
])('a probe of %s need not name any', (_what, probe) => {
  expect(refusalWith({ name: 'probe', ...probe })).toBeUndefined();
});
