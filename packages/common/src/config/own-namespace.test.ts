import { expect, test } from 'vitest';
import { ownNamespace } from './own-namespace.ts';

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
