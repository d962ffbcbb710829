import { describe, expect, test } from 'vitest';
import { probeCheck, serviceOf } from '../model/services.test-fixtures.ts';
import type { Service } from '../model/services.ts';
import { serviceList } from './probe-targets.ts';

const BUNDLE = '-----BEGIN CERTIFICATE-----';

function https(name: string, { caBundle = BUNDLE, port = 1, path = '/' } = {}): Service {
  const spec = { kind: 'https', path, ...(caBundle === '' ? {} : { caBundle }) };
  return serviceOf(name, { checks: [probeCheck(name, { spec, port })] });
}

describe('the list of services', () => {
  test('has each CA bundle once, by a key that the services name', () => {
    const { services, caBundles = {} } = serviceList([https('a'), https('b'), https('c', { caBundle: 'other' })], []);
    expect(Object.values(caBundles).sort()).toEqual([BUNDLE, 'other'].sort());
    const [a, b, c] = services.map(({ caBundle = '' }) => caBundles[caBundle]);
    expect([a, b, c]).toEqual([BUNDLE, BUNDLE, 'other']);
    expect(JSON.stringify(services)).not.toContain(BUNDLE);
    expect(services[0]?.probe).toEqual({ kind: 'https', path: '/', port: 1 });
  });

  test('says nothing of bundles where there are none', () => {
    expect(serviceList([https('a', { caBundle: '' })], [])).not.toHaveProperty('caBundles');
  });

  test('is the same in whatever order the services came, digest included', () => {
    expect(serviceList([https('b'), https('a')], [])).toEqual(serviceList([https('a'), https('b')], []));
  });

  test('has another digest when anything in it changes', () => {
    const lists = [
      [],
      [https('a')],
      [https('b')],
      [https('a'), https('b')],
      [https('a', { port: 2 })],
      [https('a', { path: '/x' })],
      [https('a', { caBundle: 'other' })],
      [https('a', { caBundle: '' })],
    ];
    const digests = lists.map((services) => serviceList(services, []).servicesDigest);
    expect(new Set(digests).size).toBe(lists.length);
  });
});
