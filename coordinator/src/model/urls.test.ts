import { expect, test } from 'vitest';
import { advertisedUrl, consoleUrl, urlOf } from './urls.ts';

const BOUND = { host: '::', port: 8443 };

test('agents are sent to the configured address, else to the address of the pod', () => {
  const told = { advertiseUrl: 'https://told:1', tls: 'on' } as const;
  const untold = { advertiseUrl: undefined, tls: 'on' } as const;
  expect(advertisedUrl(told, { podIp: '10.0.0.1' }, BOUND)).toBe('https://told:1');
  expect(advertisedUrl(untold, { podIp: '10.0.0.1' }, BOUND)).toBe('https://10.0.0.1:8443');
});

test('agents are not sent to a replica that takes no reports', () => {
  expect(advertisedUrl({ advertiseUrl: undefined, tls: 'on' }, { podIp: '10.0.0.1' }, undefined)).toBe('');
});

test.each([
  ['on', '10.0.0.1', 'https://10.0.0.1:8443'],
  ['off', '10.0.0.1', 'http://10.0.0.1:8443'],
  ['on', 'fd00::1', 'https://[fd00::1]:8443'],
  ['on', undefined, 'https://[::]:8443'],
] as const)('with TLS %s a listener of the pod %s is found at %s', (tls, podIp, url) => {
  expect(urlOf(tls, podIp, BOUND)).toBe(url);
});

test.each([
  ['of a pod', '10.0.0.1', '0.0.0.0', 'http://10.0.0.1:8090'],
  ['of a pod, for itself alone', '10.0.0.1', '127.0.0.1', ''],
  ['of no pod, on the same machine', undefined, '127.0.0.1', 'http://127.0.0.1:8090'],
  ['of no pod, on an address of the machine', undefined, '192.168.0.1', 'http://192.168.0.1:8090'],
])('the console %s', (_what, podIp, host, url) => {
  expect(consoleUrl({ podIp }, { host, port: 8090 })).toBe(url);
});

test('a console that is off is nowhere', () => {
  expect(consoleUrl({ podIp: '10.0.0.1' }, undefined)).toBe('');
});
