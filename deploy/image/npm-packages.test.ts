import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { npmPackage, readPin } from './npm-packages.ts';
import { cachedPackage, emptyDirectory, standInFor } from './packed.test-fixtures.ts';
import { PLATFORMS } from './platforms.ts';

const ROOT = path.resolve(import.meta.dirname, '../..');
const lockFile = readFileSync(path.join(ROOT, 'pnpm-lock.yaml'), 'utf8');

test('finds the Node.js that the workspace pins, for every platform', () => {
  const { optionalDependencies } = JSON.parse(readFileSync(path.join(ROOT, 'package.json'), 'utf8'));
  for (const { nodePackage } of PLATFORMS) {
    const pin = readPin(lockFile, nodePackage);
    expect(pin.version).toBe(optionalDependencies[nodePackage]);
    expect(pin.sha512).toMatch(/^[0-9a-f]{128}$/);
  }
});

test('finds a package with a scope', () => {
  expect(readPin(lockFile, '@node-usb/usb-linux-arm64-gnu').version).toBe(readPin(lockFile, 'usb').version);
});

test('refuses a package that is not pinned, and one that is pinned twice', () => {
  expect(() => readPin(lockFile, 'no-such-package')).toThrow('pins no-such-package to nothing');
  const twice =
    '  a@1.0.0:\n    resolution: {integrity: sha512-AA==}\n\n  a@2.0.0:\n    resolution: {integrity: sha512-AA==}\n';
  expect(() => readPin(twice, 'a')).toThrow('several versions');
});

test('the files of a package are those below package/', async () => {
  const cache = emptyDirectory();
  const pin = cachedPackage(cache, 'a', { 'package/index.js': 'x', 'package/lib/b.js': 'y', 'other/c.js': 'z' });
  const files = await npmPackage(pin, cache);
  expect([...files.keys()]).toEqual(['index.js', 'lib', 'lib/b.js']);
  expect(files.get('index.js')).toMatchObject({ type: 'file', content: Buffer.from('x') });
});

test('a pin is the whole hash, of the package whose name it is', () => {
  const lock = (name: string) => `  ${name}:\n    resolution: {integrity: sha512-/+8=}\n`;
  expect(readPin(`${lock('ab@1.0.0')}${lock("'a.b@2.0.0'")}${lock('a-b@3.0.0')}`, 'a.b')).toEqual({
    name: 'a.b',
    version: '2.0.0',
    sha512: 'ffef',
  });
});

test('a package that is not in the cache is fetched by npm, which may say more than its name', async () => {
  const published = emptyDirectory();
  const pin = cachedPackage(published, '@s/a', { 'package/index.js': 'x' });
  const file = path.join(published, `sha512-${pin.sha512}`);
  const script = `echo "$@" > "$HERE/asked"; cp '${file}' "$5/s-a-1.0.0.tgz"; echo; echo notice; echo s-a-1.0.0.tgz; echo`;
  const dir = standInFor(process.env, 'npm', script);
  expect([...(await npmPackage(pin, emptyDirectory())).keys()]).toEqual(['index.js']);
  expect(readFileSync(path.join(dir, 'asked'), 'utf8')).toMatch(
    /^pack @s\/a@1\.0\.0 --loglevel=error --pack-destination \//,
  );
});
