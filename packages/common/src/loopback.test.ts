import { expect, test } from 'vitest';
import { isLoopback } from './loopback.ts';

test.each(['127.0.0.1', '127.255.0.9', 'localhost', 'LOCALHOST', '::1', '[::1]'])('%s is this machine', (host) => {
  expect(isLoopback(host)).toBe(true);
});

test.each(['', '0.0.0.0', '10.127.0.1', '128.0.0.1', '127.0.0.1.example.com', 'localhost.example.com', '::', '::2'])(
  '"%s" may be another machine',
  (host) => {
    expect(isLoopback(host)).toBe(false);
  },
);
