import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { licenseTexts, packagesOf } from './bundled-packages.ts';

function rootWith(files: Readonly<Record<string, string>>): string {
  const root = mkdtempSync(path.join(tmpdir(), 'rollcall-bundled-'));
  onTestFinished(() => rmSync(root, { recursive: true }));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(root, name)), { recursive: true });
    writeFileSync(path.join(root, name), text);
  }
  return root;
}

const manifest = (name: string, version: string, license?: string) =>
  JSON.stringify({ name, version, ...(license === undefined ? {} : { license }) });

test('lists the packages of the inputs of a bundle, each once and sorted by name', async () => {
  const root = rootWith({
    'node_modules/b/package.json': manifest('b', '1', 'MIT'),
    'node_modules/b/LICENSE': 'license of b',
    'node_modules/b/NOTICE.txt': 'notice of b',
    'node_modules/b/readme.md': 'no license',
    'x/node_modules/@s/a/package.json': manifest('@s/a', '2'),
    'node_modules/c/node_modules/b/package.json': manifest('b', '1', 'MIT'),
    'node_modules/unused/package.json': manifest('unused', '1'),
  });
  const inputs = [
    'node_modules/b/index.js',
    'node_modules/b/lib/other.js',
    'x/node_modules/@s/a/index.js',
    'agent/src/main.ts',
    'node_modules/c/node_modules/b/index.js',
  ];
  expect((await packagesOf(root, inputs)).map(({ name, version, license }) => [name, version, license])).toEqual([
    ['@s/a', '2', undefined],
    ['b', '1', 'MIT'],
  ]);
  const [, b] = await packagesOf(root, inputs.slice(0, 3));
  expect(b?.texts).toEqual(['license of b', 'notice of b']);
});

test('the licenses are one document', () => {
  const packages = [
    { name: 'a', version: '1', license: 'MIT', texts: ['  one \n', 'two'] },
    { name: 'b', version: '2', license: undefined, texts: [] },
  ];
  expect(licenseTexts(packages)).toBe(
    'a 1 (MIT)\n\n=========\n\none\n\ntwo\n\n\nb 2 (license unknown)\n\n=====================\n',
  );
});
