import { expect, test } from 'vitest';
import type { Pod } from '../kube/objects.ts';
import { podsCheck } from '../model/services.test-fixtures.ts';
import type { ServicePods } from '../model/services.ts';
import { observePod, podsOf } from './observed-pod.ts';

function pod(name: string, daemonSet = '', namespace = 'ns', labels: Record<string, string> = { app: 'a' }) {
  const ownerReferences = daemonSet === '' ? [] : [{ kind: 'DaemonSet', controller: true, name: daemonSet }];
  const metadata = { name, namespace, uid: name, resourceVersion: '1', labels, ownerReferences };
  return observePod({ metadata } as Pod);
}

const WANTED = { namespace: 'ns', selector: { matchLabels: { app: 'a' } } };
const names = (pods: ServicePods | undefined, given: ReturnType<typeof pod>[]) =>
  podsOf({ checks: pods ? [podsCheck(pods)] : [] }, given).map(({ name }) => name);

test('a service without pods has none', () => {
  expect(names(undefined, [pod('a')])).toEqual([]);
});

test('pods of a service are in its namespace and have its labels', () => {
  expect(names(WANTED, [pod('a'), pod('b', '', 'other'), pod('c', '', 'ns', { app: 'c' })])).toEqual(['a']);
});

test('bare pods count where no DaemonSet has any', () => {
  expect(names(WANTED, [pod('a'), pod('b')])).toEqual(['a', 'b']);
  expect(names(WANTED, [pod('a'), pod('b', 'x'), pod('c', 'y')])).toEqual(['b', 'c']);
});

test('where the DaemonSet is named, only its pods count', () => {
  expect(names({ ...WANTED, daemonSet: 'x' }, [pod('a'), pod('b', 'x'), pod('c', 'y')])).toEqual(['b']);
  expect(names({ ...WANTED, daemonSet: 'z' }, [pod('a'), pod('b', 'x')])).toEqual([]);
});

test('pods of several checks count once each', () => {
  const checks = [podsCheck(WANTED), podsCheck({ ...WANTED, namespace: 'other' }), podsCheck(WANTED)];
  const given = [pod('a'), pod('b', '', 'other')];
  expect(podsOf({ checks }, given).map(({ name }) => name)).toEqual(['a', 'b']);
});
