import { describe, expect, test } from 'vitest';
import { checkNotifyUrls, notifyUrl } from './urls.ts';

function hrefOf(text: string): string | undefined {
  const parsed = notifyUrl(text);
  return 'url' in parsed ? parsed.url.href : undefined;
}

function problemOf(text: string): string {
  const parsed = notifyUrl(text);
  return 'problem' in parsed ? parsed.problem : '';
}

describe('the address of a receiver', () => {
  test.each([
    ['receiver', 'http://receiver/'],
    ['receiver:8080/hook?a=b', 'http://receiver:8080/hook?a=b'],
    ['localhost:8080', 'http://localhost:8080/'],
    ['10.0.0.1?token=a', 'http://10.0.0.1/?token=a'],
    ['[::1]:8080/hook', 'http://[::1]:8080/hook'],
  ])('%s has no scheme and is %s (M-4)', (text, href) => {
    expect(hrefOf(text)).toBe(href);
  });

  test.each(['http://receiver/', 'https://receiver:8443/hook?a=b%20c', 'http://[::1]:8080/'])('stays %s', (text) => {
    expect(hrefOf(text)).toBe(text);
  });

  test.each(['HTTPS://Receiver/x', 'https://receiver:443/x'])('of %s is as URLs are written', (text) => {
    expect(hrefOf(text)).toBe('https://receiver/x');
  });

  test.each([
    '',
    ' ',
    '/',
    '/hook',
    '//receiver',
    'http:',
    'http:/receiver',
    'http:receiver',
    'http://',
    'http:///receiver',
    'http:\\\\receiver',
    'receiver\\x',
    'ftp://receiver',
    'file:///etc/passwd',
    'javascript:alert(1)',
    'http://receiver:99999',
    'http://receiver/a b',
    'http://receiver/\n',
    '?x',
    'receiver:',
  ])('is not %j', (text) => {
    expect(problemOf(text)).toMatch(/^must be an http:/);
  });

  test.each(['http://me:hush@receiver/', 'http://hush@receiver/', 'me:hush@receiver'])(
    'with a user name or password is refused without being repeated: %s',
    (text) => {
      expect(problemOf(text)).toBe('must not contain a user name or password');
    },
  );
});

test('of several addresses the first wrong one is told by its number', () => {
  expect(checkNotifyUrls([])).toBeUndefined();
  expect(checkNotifyUrls(['a', 'https://b/c'])).toBeUndefined();
  expect(checkNotifyUrls(['a@b'])).toBe('must not contain a user name or password');
  expect(checkNotifyUrls(['a', 'b@c', ''])).toBe('must not contain a user name or password; see number 2');
});
