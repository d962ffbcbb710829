import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { BASE_FILES } from './base-layer.ts';
import { hexOf } from './cached-input.ts';
import { debianMirrors, debianPackage } from './debian-packages.ts';
import { emptyDirectory } from './packed.test-fixtures.ts';
import { newestLock } from './relock.ts';
import { writeTar } from './tar.ts';
import { addFile, type Tree } from './tree.ts';

const HASH = 'a'.repeat(64);

/** Puts a shell script in place of a command until the test ends. It finds its own directory as $HERE. */
function standInFor(command: string, script: string): string {
  const dir = emptyDirectory();
  writeFileSync(path.join(dir, command), `#!/bin/sh\nHERE='${dir}'\n${script}\n`);
  chmodSync(path.join(dir, command), 0o755);
  const before = process.env['PATH'];
  process.env['PATH'] = `${dir}:${before}`;
  onTestFinished(() => {
    process.env['PATH'] = before;
  });
  return dir;
}

test('the mirrors are those of Debian that apt is set up for, each once', async () => {
  const said = [
    'Debian http://a.example/debian/',
    'Other http://b.example/',
    'Debian http://c.example/',
    'Debian http://a.example/debian/',
  ];
  standInFor('apt-get', `printf '%s\\n' ${said.map((line) => `'${line}'`).join(' ')}`);
  expect(await debianMirrors()).toEqual(['http://a.example/debian/', 'http://c.example/']);
});

test('an apt without a repository of Debian asks for a mirror', async () => {
  standInFor('apt-get', "printf 'Other http://b.example/\\n'");
  await expect(debianMirrors()).rejects.toThrow('name one by --debian-mirror');
});

test('a package is read by what is wanted of it, without a mirror where it is in the cache', async () => {
  const tree: Tree = new Map();
  addFile(tree, 'usr/lib/a.so', 'x');
  addFile(tree, 'usr/bin/a', 'y');
  const dir = standInFor(
    'dpkg-deb',
    'case "$1" in --fsys-tarfile) cat "$HERE/tar";; --field) echo "Package: a";; esac',
  );
  writeFileSync(path.join(dir, 'tar'), writeTar(tree));
  const cache = emptyDirectory();
  const sha256 = hexOf('the package');
  writeFileSync(path.join(cache, `sha256-${sha256}`), 'the package');
  const pin = { name: 'a', version: '1', architecture: 'amd64', path: 'pool/a.deb', sha256 } as const;
  const noMirror = () => Promise.reject(new Error('No mirror is needed'));
  expect(await debianPackage(pin, cache, noMirror, (file) => file === 'usr/lib/a.so')).toEqual({
    files: new Map([['usr/lib/a.so', { type: 'file', mode: 0o644, content: Buffer.from('x') }]]),
    control: 'Package: a\n',
  });
});

test('the newest packages of a release are pinned for every platform, each once and in order', async () => {
  const dir = standInFor(
    'apt-get',
    `echo "$@" >> "$HERE/asked"
    for each in "$@"; do
      case "$each" in
        Dir::Etc::SourceList=*) cat "\${each#*=}" > "$HERE/sources"; dirname "\${each#*=}" >> "$HERE/dirs";;
        APT::Architecture=*) architecture="\${each#*=}";;
        Dir::Cache=*) test -d "\${each#*=}/archives/partial" || exit 1;;
        Dir::State::Lists=*) test -d "\${each#*=}/partial" || exit 1;;
        Dir::Etc::SourceParts=*) test -d "\${each#*=}" || exit 1;;
        --print-uris)
          echo "'http://m.example/debian/pool/b_1_$architecture.deb' b_1_$architecture.deb 1 SHA256:${HASH}"
          echo "'http://m.example/debian/pool/a_1_all.deb' a_1_all.deb 1 SHA256:${HASH}";;
      esac
    done`,
  );
  const { release, packages } = await newestLock('trixie', ['http://m.example/debian/', 'http://security.example/']);
  expect(release).toBe('trixie');
  expect(packages.map(({ name, architecture }) => `${name} ${architecture}`)).toEqual(['a all', 'b amd64', 'b arm64']);
  const lines = readFileSync(path.join(dir, 'sources'), 'utf8').split('\n');
  expect(lines.map((line) => line.replace(/^deb \[signed-by=\S+\] /, ''))).toEqual([
    'http://m.example/debian/ trixie main',
    'http://m.example/debian/ trixie-updates main',
    'http://security.example/ trixie-security main',
    '',
  ]);
  const asked = readFileSync(path.join(dir, 'asked'), 'utf8').trim().split('\n');
  expect(asked.map((line) => line.replace(/^.*APT::Update::Error-Mode=any /, ''))).toEqual(
    ['amd64', 'arm64'].flatMap(() => ['update', `download --print-uris ${Object.keys(BASE_FILES).join(' ')}`]),
  );
  // What apt worked in is gone.
  const dirs = readFileSync(path.join(dir, 'dirs'), 'utf8').trim().split('\n');
  expect(dirs.filter((each) => existsSync(each))).toEqual([]);
});
