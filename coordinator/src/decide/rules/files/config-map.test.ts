import { mkdir, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { FakeClock } from '@rollcall/common/testing/fake-clock.ts';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { publish, RuleDirectoryFixture } from './rule-directory.test-fixtures.ts';

const BEFORE_THE_NEXT_LOOK_MS = 4000;

let fixture: RuleDirectoryFixture;

beforeEach(async () => {
  fixture = await RuleDirectoryFixture.create();
});

afterEach(() => fixture.close());

/** Lets time pass, with whatever real reading it takes, until something holds. */
async function passUntil(clock: FakeClock, check: () => void): Promise<void> {
  await vi.waitFor(async () => {
    await clock.advance(1000);
    check();
  }, BEFORE_THE_NEXT_LOOK_MS);
}

describe.each([
  ['the label directory itself', '.', ['a', 'b', 'c']],
  ['a directory in it', 'accelerators', ['accelerators/a', 'accelerators/b', 'accelerators/c']],
])('A-13: a ConfigMap mounted at %s', (_what, mount, [a = '', b = '', c = '']) => {
  const volume = () => join(fixture.root, mount);

  test('gives the labels of its keys', async () => {
    await publish(volume(), { a: 'x', b: 'y' });
    await fixture.open();
    expect(fixture.labels).toEqual([a, b]);
    expect(fixture.implied('x')).toEqual([a]);
    expect(fixture.problems).toEqual([]);
  });

  test('is read once for each swap, and not only when it is time for a scan', async () => {
    await publish(volume(), { a: 'x', b: 'y' });
    await fixture.follow();
    await publish(volume(), { a: 'y', c: 'x' });
    await vi.waitFor(() => expect(fixture.labels).toEqual([a, c]), BEFORE_THE_NEXT_LOOK_MS);
    expect(fixture.implied('y')).toEqual([a]);
    await publish(volume(), { a: 'z', c: 'x' });
    await vi.waitFor(() => expect(fixture.implied('z')).toEqual([a]), BEFORE_THE_NEXT_LOOK_MS);
    expect(fixture.changes).toEqual([
      [a, c],
      [a, c],
    ]);
    expect(fixture.problems).toEqual([]);
    expect(fixture.lines.filter(({ level }) => level === 'warn')).toEqual([]);
  });

  test('is not read anew when nothing in it has changed', async () => {
    await publish(volume(), { a: 'x', b: 'y' });
    await fixture.follow();
    await publish(volume(), { a: 'x', b: 'y' });
    await publish(volume(), { a: 'x', b: 'y', c: 'z' });
    await vi.waitFor(() => expect(fixture.labels).toEqual([a, b, c]), BEFORE_THE_NEXT_LOOK_MS);
    expect(fixture.changes).toHaveLength(1);
  });

  test('may become empty', async () => {
    await publish(volume(), { a: 'x' });
    await fixture.follow();
    await publish(volume(), {});
    await vi.waitFor(() => expect(fixture.labels).toEqual([]), BEFORE_THE_NEXT_LOOK_MS);
    expect(fixture.problems).toEqual([]);
  });
});

describe('A-13: a ConfigMap', () => {
  test('may hold whole directories', async () => {
    await publish(fixture.root, { 'accelerators/a': 'x', 'n/b': 'x' });
    await fixture.follow();
    expect(fixture.labels).toEqual(['accelerators/a', 'n/b']);
    await publish(fixture.root, { 'accelerators/a': 'y', 'm/b': 'x' });
    await vi.waitFor(() => expect(fixture.labels).toEqual(['accelerators/a', 'm/b']), BEFORE_THE_NEXT_LOOK_MS);
    expect(fixture.changes).toHaveLength(1);
  });

  test('may hold the label directory, so that a swap is only found by a periodic scan', async () => {
    const volume = join(fixture.base, 'volume');
    await publish(volume, { 'labels/n/a': 'x' });
    const clock = new FakeClock();
    await fixture.follow({ path: join(volume, 'labels'), clock });
    expect(fixture.labels).toEqual(['n/a']);
    await publish(volume, { 'labels/n/a': 'x', 'labels/n/b': 'x' });
    await passUntil(clock, () => expect(fixture.labels).toEqual(['n/a', 'n/b']));
    expect(fixture.changes).toHaveLength(1);
  });

  test('that is optional and appears later is taken', async () => {
    await fixture.follow();
    await mkdir(join(fixture.root, 'accelerators'));
    await publish(join(fixture.root, 'accelerators'), { a: 'x' });
    await vi.waitFor(() => expect(fixture.labels).toEqual(['accelerators/a']), BEFORE_THE_NEXT_LOOK_MS);
    expect(fixture.changes).toHaveLength(1);
  });
});

test('files outside, which links lead to, are looked at now and then', async () => {
  const elsewhere = join(fixture.base, 'elsewhere');
  await fixture.write({ rule: 'x' }, elsewhere);
  await symlink(join(elsewhere, 'rule'), join(fixture.root, 'a'));
  const clock = new FakeClock();
  await fixture.follow({ clock });
  await fixture.write({ rule: 'yy' }, elsewhere);
  await passUntil(clock, () => expect(fixture.implied('yy')).toEqual(['a']));
});
