import { rename, rm, symlink, unlink, utimes, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { FakeClock } from '@rollcall/common/testing/fake-clock.ts';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { makePipe, RuleDirectoryFixture } from './rule-directory.test-fixtures.ts';

/** Records the delay of each timer. */
class RecordingClock extends FakeClock {
  readonly delays: number[] = [];

  override after(delayMs: number, callback: () => void): () => void {
    this.delays.push(delayMs);
    return super.after(delayMs, callback);
  }
}

let fixture: RuleDirectoryFixture;

beforeEach(async () => {
  fixture = await RuleDirectoryFixture.create();
});

afterEach(() => fixture.close());

describe('opening a label directory', () => {
  test('AL-2: reads every file once', async () => {
    await fixture.write({ 'accelerators/edgetpu': 'a\n', 'accelerators/ncs2': 'b', testLabel: 'dependentLabel' });
    await fixture.open();
    expect(fixture.labels).toEqual(['accelerators/edgetpu', 'accelerators/ncs2', 'testLabel']);
    expect(fixture.implied('a', 'dependentLabel')).toEqual(['accelerators/edgetpu', 'testLabel']);
    expect(fixture.problems).toEqual([]);
  });

  test('A-15: is a configuration error where there is none, and names the flag', async () => {
    const path = join(fixture.base, 'missing');
    const error = { code: 'CONFIG_INVALID', message: `--label-dir: ${path} does not exist` };
    await expect(fixture.open({ path })).rejects.toMatchObject(error);
  });

  test('A-15: is a configuration error where it is a file', async () => {
    await fixture.write({ file: '' });
    const path = join(fixture.root, 'file');
    const error = { code: 'CONFIG_INVALID', message: `--label-dir: ${path} is not a directory` };
    await expect(fixture.open({ path })).rejects.toMatchObject(error);
  });

  test('is a configuration error where what is in it cannot be listed', async () => {
    const path = join(fixture.base, 'circle');
    await symlink('circle', path);
    const error = { code: 'CONFIG_INVALID', message: `--label-dir: ${path} cannot be read (ELOOP)` };
    await expect(fixture.open({ path })).rejects.toMatchObject(error);
  });

  test('A-14: needs no file in it', async () => {
    await fixture.open();
    expect(fixture.labels).toEqual([]);
    expect(fixture.lines).toEqual([]);
  });

  test('A-12: works with a slash at the end, a relative path and a link', async () => {
    await fixture.write({ 'n/label': 'a' });
    await symlink(fixture.root, join(fixture.base, 'link'));
    const here = relative(process.cwd(), fixture.root);
    for (const path of [`${fixture.root}/`, here, `./${here}/`, join(fixture.base, 'link')]) {
      await fixture.open({ path });
      expect(fixture.labels).toEqual(['n/label']);
    }
  });

  test('tells which files are ignored because of their names, and logs each once', async () => {
    await fixture.write({ 'x.io/model': 'a', 'x.io/model.old': 'a', 'gpu.bak': 'a', 'x.io/.hidden.bak': 'a' });
    const directory = await fixture.follow();
    const ignored = () => directory.ignored().map(({ file }) => file);
    expect(ignored()).toEqual(['gpu.bak', 'x.io/model.old']);
    expect(directory.problems()).toEqual([]);
    await fixture.write({ 'x.io/model.orig': 'a', 'x.io/model': 'b' });
    await expect.poll(ignored, { timeout: 10_000 }).toEqual(['gpu.bak', 'x.io/model.old', 'x.io/model.orig']);
    const logged = () => fixture.lines.filter(({ msg }) => msg.startsWith('Ignored')).map((line) => line.files);
    await expect.poll(logged).toEqual([['gpu.bak', 'x.io/model.old'], ['x.io/model.orig']]);
  });

  test('A-11, A-16: leaves out what is no rule file, and keeps the rest', async () => {
    await fixture.write({
      'n/good': 'a\nnot good\n',
      'n/.hidden': 'a',
      'n/good~': 'a',
      'n/good.swp': 'a',
      '4913': 'a',
    });
    await fixture.write({ 'n/deep/label': 'a', 'No/label': 'a', 'n/not+good': 'a', 'gitpod.io/x': 'a' });
    await fixture.write({ '.git/config': 'a', 'n/big': 'a\n'.repeat(40_000), 'n/binary': Buffer.from('a\n\0') });
    makePipe(join(fixture.root, 'n/pipe'));
    await symlink('nowhere', join(fixture.root, 'n/dangling'));
    await symlink('itself', join(fixture.root, 'n/itself'));
    await symlink('..', join(fixture.root, 'n/up'));
    await fixture.open();
    expect(fixture.implied('a')).toEqual(['n/good']);
    expect(fixture.problems).toEqual([
      'No: is a directory whose name is not a valid prefix of label keys',
      'gitpod.io/x: is reserved',
      'n/big: is larger than 64 KiB; its label stays as it is',
      'n/binary: is not a text file; its label stays as it is',
      'n/dangling: is a broken link; its label stays as it is',
      'n/deep: is a directory, and too deep: rule files are NAMESPACE/LABEL or LABEL',
      'n/good:2:5 "good" is not "&&", "=>" or the end of the line',
      'n/itself: cannot be read (ELOOP); its label stays as it is',
      'n/not+good: is not a valid label key',
      'n/pipe: is not a regular file',
      'n/up: is a directory, and too deep: rule files are NAMESPACE/LABEL or LABEL',
    ]);
    expect(fixture.lines).toMatchObject([{ level: 'warn', msg: 'Found problems in rule files', count: 11 }]);
  });

  test('A-8: reports rules in a circle', async () => {
    await fixture.write({ 'n/a': 'n/b', 'n/b': 'n/a' });
    await fixture.open();
    expect(fixture.problems).toEqual([
      'n/a: n/a, n/b depend on each other in a cycle; only lines outside of the cycle apply',
    ]);
  });
});

describe('following a label directory', () => {
  const changed = (labels: string[]) => vi.waitFor(() => expect(fixture.labels).toEqual(labels), 4000);

  test('A-7: takes a new file, a new directory, a removed file and a renamed directory', async () => {
    await fixture.write({ 'n/a': 'x' });
    await fixture.follow();
    await fixture.write({ 'n/b': 'x' });
    await changed(['n/a', 'n/b']);
    await fixture.write({ 'm/c': 'x', 'm/d': 'x' });
    await changed(['m/c', 'm/d', 'n/a', 'n/b']);
    await unlink(join(fixture.root, 'n/a'));
    await changed(['m/c', 'm/d', 'n/b']);
    await rename(join(fixture.root, 'm'), join(fixture.root, 'o'));
    await changed(['n/b', 'o/c', 'o/d']);
    await fixture.write({ 'o/c': 'y' });
    await vi.waitFor(() => expect(fixture.implied('y')).toEqual(['o/c']), 4000);
    await rm(join(fixture.root, 'o'), { recursive: true });
    await changed(['n/b']);
  });

  test('A-7: tells a change once, and nothing where no rule has changed', async () => {
    await fixture.write({ 'n/a': 'x\n', 'n/b': 'x\n' });
    await fixture.follow();
    await fixture.write({ 'n/a': 'x\n# a comment\n', 'n/b~': 'y' });
    await utimes(join(fixture.root, 'n/b'), 1, 1);
    await fixture.write({ 'n/c': 'x' });
    await changed(['n/a', 'n/b', 'n/c']);
    expect(fixture.changes).toEqual([['n/a', 'n/b', 'n/c']]);
  });

  test('A-7: takes a change that is taken back as another change', async () => {
    await fixture.write({ 'n/a': 'x' });
    await fixture.follow();
    await fixture.write({ 'n/b': 'x' });
    await changed(['n/a', 'n/b']);
    await unlink(join(fixture.root, 'n/b'));
    await changed(['n/a']);
    expect(fixture.changes).toEqual([['n/a', 'n/b'], ['n/a']]);
  });

  test('A-7: sees a change that leaves size and times as they were', async () => {
    await fixture.write({ 'n/a': 'x' });
    await utimes(join(fixture.root, 'n/a'), 1000, 1000);
    await fixture.follow();
    await fixture.write({ 'n/a': 'y' });
    await utimes(join(fixture.root, 'n/a'), 1000, 1000);
    await vi.waitFor(() => expect(fixture.implied('y')).toEqual(['n/a']), 4000);
  });

  test('takes a file that an editor replaces as one change', async () => {
    await fixture.write({ 'n/a': 'x' });
    await fixture.follow();
    await fixture.write({ 'n/4913': '', 'n/.a.swp': 'junk', 'n/a.new.tmp': 'y' });
    await rename(join(fixture.root, 'n/a'), join(fixture.root, 'n/a~'));
    await rename(join(fixture.root, 'n/a.new.tmp'), join(fixture.root, 'n/a'));
    await vi.waitFor(() => expect(fixture.implied('y')).toEqual(['n/a']), 4000);
    expect(fixture.changes).toEqual([['n/a']]);
    expect(fixture.problems).toEqual([]);
  });

  test('takes nothing while a change is under way, but what there is when it has come to rest', async () => {
    const clock = new RecordingClock();
    const delays = (...wanted: number[]) => vi.waitFor(() => expect(clock.delays).toEqual(wanted), 4000);
    await fixture.write({ 'n/a': 'x' });
    await fixture.follow({ clock });
    await delays(2000);
    await rm(join(fixture.root, 'n/a'));
    await clock.advance(2000);
    await delays(2000, 100);
    await fixture.write({ 'n/a': 'y' });
    await clock.advance(100);
    await delays(2000, 100, 100);
    expect(fixture.changes).toEqual([]);
    await clock.advance(100);
    await vi.waitFor(() => expect(fixture.implied('y')).toEqual(['n/a']), 4000);
    expect(fixture.changes).toEqual([['n/a']]);
  });

  test('A-14: has no rules when the last file is removed, and goes on', async () => {
    await fixture.write({ 'n/a': 'x' });
    await fixture.follow();
    await rm(join(fixture.root, 'n'), { recursive: true });
    await changed([]);
    await fixture.write({ b: 'x' });
    await changed(['b']);
    expect(fixture.problems).toEqual([]);
  });

  test('reports a problem once, and when it is over', async () => {
    await fixture.write({ 'n/a': 'x' });
    await fixture.follow();
    await fixture.write({ 'n/a': 'x\nno label' });
    await vi.waitFor(() => expect(fixture.problems).toHaveLength(1), 4000);
    expect(fixture.changes).toEqual([]);
    await writeFile(join(fixture.root, 'n/a'), 'x');
    await vi.waitFor(() => expect(fixture.problems).toEqual([]), 4000);
    expect(fixture.lines.map(({ level, msg }) => `${level} ${msg}`)).toEqual([
      'warn Found problems in rule files',
      'info Found no more problems in rule files',
    ]);
  });

  test('A-20: ends at once when it is to stop', async () => {
    const directory = await fixture.open();
    const stop = new AbortController();
    const running = directory.run(stop.signal, () => {});
    const started = performance.now();
    stop.abort();
    await running;
    await directory.run(stop.signal, () => {});
    expect(performance.now() - started).toBeLessThan(1000);
  });

  test('leaves no timer behind', async () => {
    const clock = new FakeClock();
    await fixture.follow({ clock });
    await vi.waitFor(() => expect(clock.pendingTimers).toBe(1));
    fixture.stop.abort();
    await vi.waitFor(() => expect(clock.pendingTimers).toBe(0));
  });
});
