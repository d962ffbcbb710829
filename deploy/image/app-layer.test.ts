import { expect, test } from 'vitest';
import { appLayer, bundledPrograms } from './app-layer.ts';
import { cachedPackage, emptyDirectory } from './packed.test-fixtures.ts';
import { addFile, type Tree } from './tree.ts';

test('beside the agent is what cannot be bundled, and of it only what runs, with its license', async () => {
  const cache = emptyDirectory();
  const native = [
    cachedPackage(cache, '@s/native', {
      'package/usb.node': 'binary',
      'package/LICENSE': 'license',
      'package/LICENSE.libusb': 'license',
      'package/package.json': '{}',
      'package/index.js': 'x',
      'package/index.js.map': 'x',
      'package/lib/index.js': 'x',
      'package/README.md': 'x',
    }),
  ];
  const tree: Tree = new Map();
  addFile(tree, 'app/agent/main.js', 'program');
  const found = await appLayer({ tree, packages: [] }, native, cache);
  const below = 'app/agent/node_modules/@s/native';
  expect([...found.keys()].sort()).toEqual([
    'app/agent/main.js',
    ...['LICENSE', 'LICENSE.libusb', 'index.js', 'package.json', 'usb.node'].map((file) => `${below}/${file}`),
  ]);
  expect(found.get(`${below}/usb.node`)).toEqual({ type: 'file', mode: 0o644, content: Buffer.from('binary') });
  expect([...tree.keys()]).toEqual(['app/agent/main.js']);
});

test('of the programs, the image has the agent and the coordinator', async () => {
  const { tree } = await bundledPrograms();
  const folders = [...tree.keys()].map((file) => /^app\/([^/]+)\//.exec(file)?.[1]);
  expect(new Set(folders)).toEqual(new Set(['agent', 'coordinator', undefined]));
});

test('the programs are bundles without source maps, with the licenses of what is in them', async () => {
  const files = ['agent/dist/main.js', 'agent/dist/main.js.map', 'coordinator/dist/main.js'].map((file) => ({
    path: file,
    contents: Buffer.from(`of ${file}`),
  }));
  const inputs = new Set(['agent/src/main.ts', 'node_modules/vitest/dist/index.js']);
  const { tree, packages } = await bundledPrograms(async () => ({ files, inputs, page: '' }));
  expect(packages).toMatchObject([{ name: 'vitest', license: 'MIT' }]);
  const texts = new Map([...tree].map(([name, entry]) => [name, entry.type === 'file' ? `${entry.content}` : '']));
  expect([...texts]).toEqual([
    ['app/agent/main.js', 'of agent/dist/main.js'],
    ['app/coordinator/main.js', 'of coordinator/dist/main.js'],
    ['app/agent/package.json', '{"type":"module"}\n'],
    ['app/coordinator/package.json', '{"type":"module"}\n'],
    ['app/LICENSE', expect.stringContaining('Apache License')],
    ['app/THIRD-PARTY-LICENSES.txt', expect.stringMatching(/^vitest \S+ \(MIT\)\n/)],
  ]);
});
