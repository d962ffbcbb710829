import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { BASE_FILES } from './base-layer.ts';
import { UnreachableInput } from './cached-input.ts';
import { type DebianPin, debianMirrors, debianPackage, debianSnapshots } from './debian-packages.ts';
import { cachedDebian, emptyDirectory, standInFor, standInForDpkg } from './packed.test-fixtures.ts';
import { writeNewestLock } from './relock.ts';

const HASH = 'a'.repeat(64);

test('lists each Debian mirror of the apt configuration once', async () => {
  const said = [
    'Debian http://a.example/debian/',
    'Other http://b.example/',
    'Debian http://c.example/',
    'Debian http://a.example/debian/',
  ];
  standInFor(process.env, 'apt-get', `printf '%s\\n' ${said.map((line) => `'${line}'`).join(' ')}`);
  expect(await debianMirrors()).toEqual(['http://a.example/debian/', 'http://c.example/']);
});

test('an apt without a repository of Debian asks for a mirror', async () => {
  standInFor(process.env, 'apt-get', "printf 'Other http://b.example/\\n'");
  await expect(debianMirrors()).rejects.toThrow('name one by --debian-mirror');
});

test('the archives of old versions are those of Debian that apt knows', async () => {
  const said = `Acquire::Snapshots::URI::Origin::Debian "https://old.example/debian/@SNAPSHOTID@/";
Acquire::Snapshots::URI::Origin::Ubuntu "https://other.example/@SNAPSHOTID@/";
Acquire::Snapshots::URI::Override::Label "";
Acquire::Snapshots::URI::Override::Label::Debian-Security "https://old.example/security/@SNAPSHOTID@/";`;
  standInFor(process.env, 'apt-config', `printf '%s\\n' '${said}'`);
  expect(await debianSnapshots('20260102T030405Z')).toEqual([
    'https://old.example/debian/20260102T030405Z/',
    'https://old.example/security/20260102T030405Z/',
  ]);
});

test('an apt before version 3 knows no archive of old versions', async () => {
  standInFor(process.env, 'apt-config', `echo 'Acquire::Languages "none";'`);
  expect(await debianSnapshots('20260102T030405Z')).toEqual([]);
});

test('a package is read by what is wanted of it, without a mirror where it is in the cache', async () => {
  standInForDpkg(process.env);
  const cache = emptyDirectory();
  const pin = cachedDebian(cache, { name: 'a', architecture: 'amd64' }, { 'usr/lib/a.so': 'x', 'usr/bin/a': 'y' });
  const noMirror = () => Promise.reject(new Error('No mirror is needed'));
  expect(await debianPackage(pin, cache, noMirror, (file) => file === 'usr/lib/a.so')).toEqual({
    files: new Map([['usr/lib/a.so', { type: 'file', mode: 0o644, content: Buffer.from('x') }]]),
    control: 'Package: a\nSource: b (2)\n',
  });
});

describe.skipIf(!existsSync('/usr/lib/apt/apt-helper'))('a package that is not in the cache', () => {
  /** A repository that has it at its place, or something else there. */
  function mirrorWith(pin: DebianPin, content?: string): string {
    const root = emptyDirectory();
    const pool = path.join(root, 'pool');
    cachedDebian(pool, pin, { a: 'x' });
    renameSync(path.join(pool, `sha256-${pin.sha256}`), path.join(root, pin.path));
    if (content !== undefined) writeFileSync(path.join(root, pin.path), content);
    return `file:${root}`;
  }

  const from = (mirrors: string[], pin: DebianPin) =>
    debianPackage(
      pin,
      emptyDirectory(),
      async () => mirrors,
      () => true,
    );

  test('is downloaded from the first mirror that has it as it is pinned', async () => {
    standInForDpkg(process.env);
    const pin = cachedDebian(emptyDirectory(), { name: 'a', architecture: 'amd64' }, { a: 'x' });
    const mirrors = [`file:${emptyDirectory()}/`, mirrorWith(pin, 'forged'), mirrorWith(pin)];
    expect([...(await from(mirrors, pin)).files.keys()]).toEqual(['a']);
  });

  test('and on no mirror is missing, by what each of them said', async () => {
    const pin = cachedDebian(emptyDirectory(), { name: 'a', architecture: 'amd64' }, { a: 'x' });
    const empty = `file:${emptyDirectory()}/`;
    const failing = from([empty, mirrorWith(pin, 'forged')], pin);
    await expect(failing).rejects.toThrow(`a 1 is on none of the mirrors.\n  ${empty}pool/a.deb: apt-helper: `);
    await expect(failing).rejects.toThrow('node deploy/image/main.ts --relock takes the newest.');
    await expect(failing).rejects.toBeInstanceOf(UnreachableInput);
  });
});

test('the newest packages of a release are pinned for every platform, each once and in order', async () => {
  const dir = standInFor(
    process.env,
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
  const file = path.join(emptyDirectory(), 'lock.json');
  const mirrors = ['http://m.example/debian/', 'http://security.example/'];
  const { packages, ...lock } = await writeNewestLock(file, 'trixie', mirrors, Date.parse('2026-01-02T03:04:05.678Z'));
  expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({ ...lock, packages });
  expect(lock).toEqual({ release: 'trixie', snapshot: '20260103T030405Z' });
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
  // The working directory of apt is removed.
  const dirs = readFileSync(path.join(dir, 'dirs'), 'utf8').trim().split('\n');
  expect(dirs.filter((each) => existsSync(each))).toEqual([]);
});
