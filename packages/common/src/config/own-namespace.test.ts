import { expect, test } from 'vitest';
import { checkOwnNamespace, ownNamespace } from './own-namespace.ts';

const inPod = (path: string) => {
  if (path === '/var/run/secrets/kubernetes.io/serviceaccount/namespace') return 'mounted\n';
  throw new Error('ENOENT');
};
const outside = () => {
  throw new Error('ENOENT');
};

test('the variable comes first, then the service account, then the default', () => {
  expect(ownNamespace({ env: { POD_NAMESPACE: 'given' }, readFile: inPod })).toBe('given');
  expect(ownNamespace({ env: { POD_NAMESPACE: '' }, readFile: inPod })).toBe('mounted');
  expect(ownNamespace({ env: {}, readFile: outside })).toBe('rollcall');
  expect(ownNamespace({ env: {}, readFile: () => '\n' })).toBe('rollcall');
});

test.each(['Rollcall', 'a.b', 'a_b', '-a', 'a\n', 'a'.repeat(64)])('%j is refused as no namespace', (namespace) => {
  expect(() => checkOwnNamespace(namespace)).toThrow(/^POD_NAMESPACE: must be a DNS label: /);
});

test.each(['rollcall', 'a', '0-1', 'a'.repeat(63)])('%j is taken', (namespace) => {
  expect(() => checkOwnNamespace(namespace)).not.toThrow();
});
