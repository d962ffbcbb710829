import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { leaderTarget } from './ask-leader.ts';

const LEADER = 'http://10.0.0.7:8090';

describe('a request to the leader', () => {
  test.each([
    ['/v1/nodes?a=b', '/v1/nodes?a=b'],
    ['http://elsewhere/v1/nodes?a=b', '/v1/nodes?a=b'],
    ['//elsewhere/x', '//elsewhere/x'],
    ['/@elsewhere/x', '/@elsewhere/x'],
  ])('has path and query of the target alone: %j', (target, expected) => {
    expect(leaderTarget(LEADER, target)?.href).toBe(`${LEADER}${expected}`);
  });

  test.each(['*', 'elsewhere:443', undefined])('is not made for %j', (target) => {
    expect(leaderTarget(LEADER, target)).toBeUndefined();
  });

  test('of the leader’s address, only scheme, host and port count', () => {
    expect(leaderTarget('https://user:word@[fd00::7]:8888/a?b#c', '/x')?.href).toBe('https://[fd00::7]:8888/x');
  });

  test.each(['', 'nonsense', 'file:///etc/passwd', 'ftp://10.0.0.7'])('%j is no address of a leader', (url) => {
    expect(leaderTarget(url, '/x')).toBeUndefined();
  });

  test('whatever the target is, the origin is the leader’s', () => {
    const piece = fc.constantFrom(
      '/',
      '\\',
      '@',
      ':',
      '.',
      '..',
      '?',
      '#',
      '%2f',
      '\t',
      '\r\n',
      'http:',
      '[',
      ']',
      '169.254.169.254',
    );
    const target = fc.oneof(
      fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join('')),
      fc.array(piece, { maxLength: 12 }).map((pieces) => `/${pieces.join('')}`),
      fc.webUrl(),
      fc.string({ unit: 'binary' }).map((text) => `/${text}`),
    );
    fc.assert(
      fc.property(target, (text) => {
        const url = leaderTarget(LEADER, text);
        if (url === undefined) return;
        expect([url.origin, url.username, url.password]).toEqual([LEADER, '', '']);
      }),
      { numRuns: 300 },
    );
  });
});
