import { describe, expect, it } from 'vitest';
import { isOlderVersion } from './objects.ts';

describe('isOlderVersion', () => {
  it.each([
    ['9', '10', true],
    ['10', '9', false],
    ['10', '10', false],
    ['9007199254740992', '9007199254740993', true],
  ])('%s before %s: %s', (a, b, older) => {
    expect(isOlderVersion(a, b)).toBe(older);
  });
});
