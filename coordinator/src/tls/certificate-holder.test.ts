import { expect, test } from 'vitest';
import { CertificateHolder } from './certificate-holder.ts';

const pair = { cert: 'c', key: 'k' };

test('a listener gets each new pair until it leaves', () => {
  const holder = new CertificateHolder();
  const told: object[] = [];
  const leave = holder.onChange((each) => told.push(each));
  expect([holder.set(pair), holder.set({ ...pair }), holder.current]).toEqual([true, false, pair]);
  const [newKey, newCert] = [
    { cert: 'c', key: 'k2' },
    { cert: 'c2', key: 'k2' },
  ];
  expect([holder.set(newKey), holder.set(newCert)]).toEqual([true, true]);
  leave();
  holder.set(pair);
  expect(told).toEqual([pair, newKey, newCert]);
  expect(holder.current).toBe(pair);
});
