import { expect, test } from 'vitest';
import { baseLayer, isBaseFile } from './base-layer.ts';
import type { DebianPin } from './debian-packages.ts';
import { addFile, type Tree } from './tree.ts';

const pin = (name: string): DebianPin => ({ name, version: '1', architecture: 'amd64', path: 'p', sha256: 'x' });

function packageWith(name: string, files: Readonly<Record<string, string>>) {
  const tree: Tree = new Map();
  for (const [path, content] of Object.entries(files)) addFile(tree, path, content);
  return { pin: pin(name), control: `Package: ${name}\n`, files: tree };
}

const textOf = (tree: Tree, path: string) => {
  const entry = tree.get(path);
  return entry?.type === 'file' ? `${entry.content}` : undefined;
};

test.each([
  ['libc6', 'usr/lib/x86_64-linux-gnu/libc.so.6', true],
  ['libc6', 'usr/lib64/ld-linux-x86-64.so.2', true],
  ['libc6', 'usr/lib/x86_64-linux-gnu/libresolv.so.2', false],
  ['libc6', 'usr/bin/ldd', false],
  ['libc6', 'usr/share/doc/libc6/copyright', true],
  ['libc6', 'usr/share/doc/libc6', true],
  ['libc6', 'usr/share/doc/other', false],
  ['libc6', 'usr/share/doc/libc6/changelog', false],
  ['gcc-14-base', 'usr/lib/anything', false],
  ['unknown', 'usr/lib/anything', false],
  ['ca-certificates', 'usr/share/ca-certificates/mozilla/a.crt', true],
])('of %s the file %s is in the image: %s', (name, path, isIn) => {
  expect(isBaseFile(name, path)).toBe(isIn);
});

test('the certificates of all packages are one file, in their order', () => {
  const tree = baseLayer([
    packageWith('ca-certificates', {
      'usr/share/ca-certificates/b.crt': 'B\n\n',
      'usr/share/ca-certificates/a.crt': 'A',
    }),
  ]);
  expect(textOf(tree, 'etc/ssl/certs/ca-certificates.crt')).toBe('A\nB\n');
  expect(tree.has('usr/share/ca-certificates/a.crt')).toBe(false);
});

test('files and links are kept, and directories come by themselves', () => {
  const found = packageWith('libc6', { 'usr/lib/libc.so.6': 'x' });
  found.files.set('usr/share/doc/libc6', { type: 'symlink', target: 'other' });
  found.files.set('usr/lib', { type: 'directory', mode: 0o700 });
  const tree = baseLayer([found]);
  expect(textOf(tree, 'usr/lib/libc.so.6')).toBe('x');
  expect(tree.get('usr/share/doc/libc6')).toEqual({ type: 'symlink', target: 'other' });
  expect(tree.has('usr/lib')).toBe(false);
});

test('scanners find what each package is', () => {
  const tree = baseLayer([packageWith('libc6', {}), packageWith('libatomic1', {})]);
  expect(textOf(tree, 'var/lib/dpkg/status.d/libc6')).toBe('Package: libc6\n');
  expect(textOf(tree, 'var/lib/dpkg/status.d/libatomic1')).toBe('Package: libatomic1\n');
});

test('there is a user without rights, and a directory for what is temporary', () => {
  const tree = baseLayer([]);
  expect(textOf(tree, 'etc/passwd')).toBe('root:x:0:0:root:/:/nologin\nnonroot:x:65532:65532:nonroot:/tmp:/nologin\n');
  expect(textOf(tree, 'etc/group')).toBe('root:x:0:\nnonroot:x:65532:\n');
  expect(textOf(tree, 'etc/nsswitch.conf')).toContain('hosts: files dns\n');
  expect(tree.get('tmp')).toEqual({ type: 'directory', mode: 0o1777 });
  expect(tree.get('lib')).toEqual({ type: 'symlink', target: 'usr/lib' });
  expect(tree.get('etc/os-release')).toEqual({ type: 'symlink', target: '../usr/lib/os-release' });
});

test('the fixed path of the dynamic loader is there where its files are', () => {
  expect(baseLayer([]).has('lib64')).toBe(false);
  const tree = baseLayer([packageWith('libc6', { 'usr/lib64/ld-linux-x86-64.so.2': 'x' })]);
  expect(tree.get('lib64')).toEqual({ type: 'symlink', target: 'usr/lib64' });
});
