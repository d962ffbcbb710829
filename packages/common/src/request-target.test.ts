import { describe, expect, test } from 'vitest';
import { readTarget } from './request-target.ts';

describe('only path and query of a request target count', () => {
  test.each([
    ['/v1/nodes?a=b', '/v1/nodes?a=b'],
    ['/', '/'],
    ['http://elsewhere', '/'],
    ['http://elsewhere/v1/nodes?a=b', '/v1/nodes?a=b'],
    ['HTTPS://user:word@elsewhere:1/v1/nodes', '/v1/nodes'],
    ['//elsewhere/x', '//elsewhere/x'],
    ['/\\elsewhere/x', '//elsewhere/x'],
    ['/\t/elsewhere/x', '//elsewhere/x'],
    ['//user@elsewhere/x', '//user@elsewhere/x'],
    ['/..//elsewhere/x', '//elsewhere/x'],
    ['/@elsewhere/x', '/@elsewhere/x'],
  ])('%j', (target, expected) => {
    const read = readTarget(target);
    expect(`${read?.pathname}${read?.search}`).toBe(expected);
  });

  test.each([
    '*',
    '',
    'elsewhere:443',
    'http:elsewhere',
    'http://',
    '@elsewhere/x',
    'ftp://elsewhere/x',
    '\\\\elsewhere\\x',
    undefined,
  ])('%j is no target', (target) => {
    expect(readTarget(target)).toBeUndefined();
  });
});
