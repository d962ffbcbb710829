import { describe, expect, test } from 'vitest';
import { checkCoordinatorUrls, redirectOrigin } from './coordinator-url.ts';

describe('checkCoordinatorUrls', () => {
  test.each([
    ['https://rollcall-coordinator.rollcall.svc:8443'],
    ['https://10.0.0.1'],
    ['https://[fd00::1]:8443/'],
    ['http://127.0.0.1:8443'],
    ['http://127.9.9.9:1'],
    ['http://localhost:8443'],
    ['http://[::1]:8443'],
  ])('takes %s', (url) => {
    expect(checkCoordinatorUrls([url])).toBeUndefined();
  });

  test.each([
    ['http://10.0.0.1:8443', /must be https/],
    ['http://127.0.0.1.example.com', /must be https/],
    ['http://localhost.example.com', /must be https/],
    ['ftp://127.0.0.1', /https:\/\/HOST/],
    ['127.0.0.1:8443', /https:\/\/HOST/],
    ['https://host/prefix', /end after the port/],
    ['https://host/?a=b', /end after the port/],
    ['https://user@host', /user name/],
  ])('refuses %s', (url, problem) => {
    expect(checkCoordinatorUrls(['https://good', url])).toMatch(problem);
  });

  test('refuses an empty list', () => {
    expect(checkCoordinatorUrls([])).toBeDefined();
  });

  test('does not repeat a password', () => {
    expect(checkCoordinatorUrls(['https://user:secret@host'])).not.toContain('secret');
  });
});

describe('redirectOrigin', () => {
  test.each([
    ['https://10.0.0.2:8443/v1/reports', 'https://10.0.0.1:8443', 'https://10.0.0.2:8443'],
    ['https://10.0.0.2:8443', 'https://10.0.0.1:8443', 'https://10.0.0.2:8443'],
    ['/v1/reports', 'https://10.0.0.1:8443', 'https://10.0.0.1:8443'],
    ['http://127.0.0.1:2/v1/reports', 'http://127.0.0.1:1', 'http://127.0.0.1:2'],
  ])('follows %s from %s', (location, origin, expected) => {
    expect(redirectOrigin(location, origin)).toBe(expected);
  });

  test.each([
    ['http://127.0.0.1:2', 'https://127.0.0.1:1'],
    ['https://127.0.0.1:2', 'http://127.0.0.1:1'],
    ['http://10.0.0.2:2', 'http://127.0.0.1:1'],
    ['//evil.example.com:1/', 'http://127.0.0.1:1'],
    ['https://', 'https://10.0.0.1'],
    [undefined, 'https://10.0.0.1'],
  ])('does not follow %s from %s', (location, origin) => {
    expect(redirectOrigin(location, origin)).toBeUndefined();
  });
});
