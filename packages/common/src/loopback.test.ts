import { expect, test } from 'vitest';
import { isClearText, isLoopback } from './loopback.ts';

test.each(['127.0.0.1', '127.255.0.9', 'localhost', 'LOCALHOST', '::1', '[::1]'])('%s is this machine', (host) => {
  expect(isLoopback(host)).toBe(true);
});

test.each(['', '0.0.0.0', '10.127.0.1', '128.0.0.1', '127.0.0.1.example.com', 'localhost.example.com', '::', '::2'])(
  '"%s" may be another machine',
  (host) => {
    expect(isLoopback(host)).toBe(false);
  },
);

test.each([
  ['http://k/', true],
  ['http://localhost@k/', true],
  ['http://[::ffff:127.0.0.1]/', true],
  ['https://k/', false],
  ['http://[::1]:8080/', false],
  ['http://2130706433/', false],
])('whether %s is clear text on a network: %s', (url, expected) => {
  expect(isClearText(new URL(url))).toBe(expected);
});
