import { chmod, chown, mkdir, rename, rm, symlink, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { FakeClock } from '@rollcall/common/testing/fake-clock.ts';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { inventory } from '../../../model/inventory/inventory.test-fixtures.ts';
import { RuleDirectoryFixture } from './rule-directory.test-fixtures.ts';

/** A file that opens and cannot be read, also by root. */
const BROKEN_DEVICE = '/proc/self/mem';
const NOBODY = 65_534;

let fixture: RuleDirectoryFixture;
let clock: FakeClock;

beforeEach(async () => {
  fixture = await RuleDirectoryFixture.create();
  clock = new FakeClock();
});

afterEach(async () => {
  if (process.getuid?.() === 0) process.seteuid?.(0);
  await chmod(join(fixture.root, 'n'), 0o755).catch(() => {});
  await fixture.close();
});

async function passUntil(check: () => void): Promise<void> {
  await vi.waitFor(async () => {
    await clock.advance(1000);
    check();
  }, 4000);
}

/** Root can read everything: take another user id for the rest of the test. */
async function beNobody(...paths: string[]): Promise<void> {
  if (process.getuid?.() !== 0) return;
  for (const path of [fixture.base, fixture.root, ...paths]) await chown(path, NOBODY, NOBODY);
  process.seteuid?.(NOBODY);
}

describe.runIf(process.platform === 'linux')('a file that cannot be read', () => {
  test('says what it said before, until it can be read or is gone', async () => {
    await fixture.write({ 'n/a': 'x', 'n/b': 'x' });
    await fixture.follow({ clock });
    const a = join(fixture.root, 'n/a');
    await unlink(a);
    await symlink(BROKEN_DEVICE, a);
    await passUntil(() => expect(fixture.problems).toEqual(['n/a: cannot be read (EIO); its label stays as it is']));
    expect(fixture.implied('x')).toEqual(['n/a', 'n/b']);
    expect(fixture.changes).toEqual([]);
    await clock.advance(60_000);
    expect(fixture.lines.filter(({ level }) => level === 'warn')).toHaveLength(1);
    await unlink(a);
    await fixture.write({ 'n/a': 'y' });
    await passUntil(() => expect(fixture.implied('y')).toEqual(['n/a']));
    expect(fixture.problems).toEqual([]);
  });

  test('leaves its label as it is where it was never read, and is unknown', async () => {
    await mkdir(join(fixture.root, 'n'));
    await symlink(BROKEN_DEVICE, join(fixture.root, 'n/a'));
    await fixture.write({ 'n/b': 'n/a', 'n/c': 'x' });
    const directory = await fixture.follow({ clock });
    expect([...directory.ruleSet.evaluate({ x: '' }, inventory()).unknown.keys()]).toEqual(['n/a', 'n/b']);
    expect(fixture.implied('x')).toEqual(['n/c']);
    await unlink(join(fixture.root, 'n/a'));
    await passUntil(() => expect(fixture.labels).toEqual(['n/b', 'n/c']));
    expect(directory.ruleSet.evaluate({ x: '' }, inventory()).unknown.size).toBe(0);
  });

  test('is one that may not be read', async () => {
    await fixture.write({ 'n/a': 'x' });
    await chmod(join(fixture.root, 'n/a'), 0);
    await beNobody(join(fixture.root, 'n'));
    await fixture.follow({ clock });
    await passUntil(() => expect(fixture.problems[0]).toContain('cannot be read (EACCES)'));
  });
});

describe('a link that leads to nothing', () => {
  async function linked(name: string): Promise<string> {
    const volume = join(fixture.base, 'volume');
    await fixture.write({ a: 'x', 'n/b': 'x' }, volume);
    await symlink(join(volume, name), join(fixture.root, name));
    return volume;
  }

  test('says what the file said before, until it leads there again or is removed', async () => {
    const volume = await linked('a');
    await fixture.follow({ clock });
    await rename(volume, `${volume}.away`);
    await passUntil(() => expect(fixture.problems).toEqual(['a: is a broken link; its label stays as it is']));
    expect(fixture.implied('x')).toEqual(['a']);
    await rename(`${volume}.away`, volume);
    await passUntil(() => expect(fixture.problems).toEqual([]));
    expect(fixture.changes).toEqual([]);
    await rename(volume, `${volume}.away`);
    await passUntil(() => expect(fixture.problems).toHaveLength(1));
    await unlink(join(fixture.root, 'a'));
    await passUntil(() => expect(fixture.labels).toEqual([]));
    expect(fixture.problems).toEqual([]);
  });

  test('leaves its label unknown where it was never read', async () => {
    await symlink('nowhere', join(fixture.root, 'a'));
    const directory = await fixture.follow({ clock });
    expect([...directory.ruleSet.evaluate({}, inventory()).unknown.keys()]).toEqual(['a']);
  });

  test.each([
    ['whose name may be the name of a label', 'n'],
    ['whose name may not', `${'n'.repeat(63)}.example`],
  ])('keeps the rules of a namespace %s', async (_what, name) => {
    const volume = join(fixture.base, 'volume');
    await fixture.write({ b: 'x' }, volume);
    await symlink(volume, join(fixture.root, name));
    await fixture.follow({ clock });
    await rename(volume, `${volume}.away`);
    await passUntil(() => expect(fixture.problems[0]).toContain(`${name}: is a broken link; `));
    expect(fixture.implied('x')).toEqual([`${name}/b`]);
    await unlink(join(fixture.root, name));
    await passUntil(() => expect(fixture.labels).toEqual([]));
  });
});

describe('a directory that cannot be listed', () => {
  test('keeps the rules in it, and the others go on', async () => {
    await fixture.write({ 'n/a': 'x' });
    await beNobody(join(fixture.root, 'n'), join(fixture.root, 'n/a'));
    await fixture.follow({ clock });
    await chmod(join(fixture.root, 'n'), 0);
    await fixture.write({ b: 'x' });
    await passUntil(() => expect(fixture.labels).toEqual(['b', 'n/a']));
    expect(fixture.problems).toEqual(['n: cannot be listed (EACCES); labels of the rules in it stay as they are']);
    await chmod(join(fixture.root, 'n'), 0o755);
    await unlink(join(fixture.root, 'n/a'));
    await passUntil(() => expect(fixture.labels).toEqual(['b']));
    expect(fixture.problems).toEqual([]);
  });

  test('keeps the rules in it when it can be listed but not entered', async () => {
    await fixture.write({ 'n/a': 'x' });
    await beNobody(join(fixture.root, 'n'), join(fixture.root, 'n/a'));
    await fixture.follow({ clock });
    await chmod(join(fixture.root, 'n'), 0o400);
    await passUntil(() => expect(fixture.problems).toHaveLength(1));
    expect(fixture.implied('x')).toEqual(['n/a']);
  });

  test('keeps the rules in it while its content is unknown', async () => {
    await fixture.write({ 'n/a': 'x' });
    await fixture.follow({ clock });
    await rm(join(fixture.root, 'n'), { recursive: true });
    await symlink('n', join(fixture.root, 'n'));
    await passUntil(() => expect(fixture.problems).toHaveLength(1));
    expect(fixture.implied('x')).toEqual(['n/a']);
  });

  test('is the label directory itself when it is gone: the last rules stay until it is back', async () => {
    await fixture.write({ 'n/a': 'x' });
    await fixture.follow({ clock });
    await rename(fixture.root, `${fixture.root}.away`);
    await passUntil(() => expect(fixture.problems).toHaveLength(1));
    expect(fixture.problems).toEqual(['.: does not exist; labels of the rules in it stay as they are']);
    expect(fixture.implied('x')).toEqual(['n/a']);
    expect(fixture.changes).toEqual([]);
    await mkdir(fixture.root);
    await fixture.write({ 'n/b': 'x' });
    await passUntil(() => expect(fixture.labels).toEqual(['n/b']));
    expect(fixture.problems).toEqual([]);
    expect(fixture.changes).toHaveLength(1);
  });
});
