import { expect, test } from 'vitest';
import { parsePrintedUris } from './relock.ts';

const MIRROR = 'http://mirror.example/debian/';
const HASH = 'a'.repeat(64);

test('reads what apt prints', () => {
  const printed = `'${MIRROR}pool/main/g/gcc-14/libstdc%2b%2b6_14.2.0-19_arm64.deb' libstdc++6_14.2.0-19_arm64.deb 637536 SHA256:${HASH}\n`;
  expect(parsePrintedUris(printed, [MIRROR])).toEqual([
    {
      name: 'libstdc++6',
      version: '14.2.0-19',
      architecture: 'arm64',
      path: 'pool/main/g/gcc-14/libstdc%2b%2b6_14.2.0-19_arm64.deb',
      sha256: HASH,
    },
  ]);
});

test('refuses a package from anywhere else', () => {
  const printed = `'http://elsewhere.example/a_1_all.deb' a_1_all.deb 1 SHA256:${HASH}\n`;
  expect(() => parsePrintedUris(printed, [MIRROR])).toThrow('elsewhere');
});

test('reads each package that apt prints, with an epoch in its version', () => {
  const line = (file: string) => `'${MIRROR}/pool/${file}' ${file} 1 SHA256:${HASH}\n`;
  const printed = `Reading package lists...\n${line('a_1%3a2-3_amd64.deb')}${line('b_1_all.deb')}`;
  expect(parsePrintedUris(printed, ['http://none.example/', MIRROR])).toMatchObject([
    { name: 'a', version: '1:2-3', architecture: 'amd64', path: 'pool/a_1%3a2-3_amd64.deb' },
    { name: 'b', version: '1', architecture: 'all', path: 'pool/b_1_all.deb' },
  ]);
  expect(parsePrintedUris('', [MIRROR])).toEqual([]);
});

test('refuses a package for another processor', () => {
  const printed = `'${MIRROR}a_1_riscv64.deb' a_1_riscv64.deb 1 SHA256:${HASH}\n`;
  expect(() => parsePrintedUris(printed, [MIRROR])).toThrow('Unexpected of apt');
});
