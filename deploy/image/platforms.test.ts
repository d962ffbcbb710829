import { expect, test } from 'vitest';
import { PLATFORMS, parsePlatform } from './platforms.ts';

test('a platform is known as people and tools write it', () => {
  for (const platform of PLATFORMS) expect(parsePlatform(`linux/${platform.architecture}`)).toBe(platform);
});

test('any other platform is answered with those that there are', () => {
  for (const name of ['amd64', 'linux/riscv64', ''])
    expect(() => parsePlatform(name)).toThrow(`${name}: no such platform; there are linux/amd64, linux/arm64`);
});
