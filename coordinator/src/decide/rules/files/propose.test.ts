import { symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { silentLogger } from '@rollcall/common/logging.ts';
import { Slices } from '@rollcall/common/slices.ts';
import { FakeClock } from '@rollcall/common/testing/fake-clock.ts';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { inventory } from '../../../model/inventory/inventory.test-fixtures.ts';
import { registryOf } from '../../../model/keys/key-registry.test-fixtures.ts';
import { RuleDirectoryFixture } from './rule-directory.test-fixtures.ts';
import { openRules } from './rule-directory.ts';

let fixture: RuleDirectoryFixture;

beforeEach(async () => {
  fixture = await RuleDirectoryFixture.create();
});

afterEach(() => fixture.close());

test('files that are proposed stand beside those that are there, or in their place, and change nothing', async () => {
  await fixture.write({ 'n/a': 'x', 'n/b': 'x' });
  const directory = await fixture.open();
  const { ruleSet, problems } = await directory.propose({ 'n/b': 'y', c: 'n/b' }, new Slices());
  expect(problems).toEqual([]);
  expect([...ruleSet.evaluate({ y: '' }, inventory()).implied.keys()]).toEqual(['c', 'n/b']);
  expect([...ruleSet.labels.keys()]).toEqual(['c', 'n/a', 'n/b']);
  expect(fixture.implied('x', 'y')).toEqual(['n/a', 'n/b']);
});

test('what is wrong with proposed files is told by file and line, and the good lines count', async () => {
  await fixture.write({ 'n/a': 'x' });
  const directory = await fixture.open();
  const files = { 'n/b': 'x\nno label', 'a/b/c': 'x', 'gitpod.io/x': 'x', 'n/a': 'y' };
  const { ruleSet, problems } = await directory.propose(files, new Slices());
  expect(problems).toEqual([
    { file: 'n/b', line: 2, column: 4, problem: '"label" is not "&&", "=>" or the end of the line' },
    { file: 'a/b/c', problem: 'is too deep: rule files are NAMESPACE/LABEL or LABEL' },
    { file: 'gitpod.io/x', problem: 'is reserved' },
  ]);
  expect([...ruleSet.evaluate({ x: '' }, inventory()).implied.keys()]).toEqual(['n/b']);
});

test('a directory in the label directory that cannot be listed is named by its path', async () => {
  // Too long for a label: what it leads to can only be a namespace.
  const name = `${'n'.repeat(63)}.example`;
  await symlink('nowhere', join(fixture.root, name));
  await expect(fixture.open()).rejects.toMatchObject({
    code: 'CONFIG_INVALID',
    message: `--label-dir: ${fixture.root}/${name} is a broken link`,
  });
});

test('of many problems ten are logged, and all are told', async () => {
  const lines = Array.from({ length: 12 }, () => 'no label').join('\n');
  await fixture.write({ a: lines });
  await fixture.open();
  expect(fixture.problems).toHaveLength(12);
  const [line] = fixture.lines as unknown as { count: number; problems: unknown[] }[];
  expect([line?.count, line?.problems.length]).toEqual([12, 10]);
});

test('rules are read where a directory is named, and refused as the registry and the flags say', async () => {
  await fixture.write({ 'n/a': 'x', 'm/b': 'x', agentpool: 'x' });
  const options = { keys: registryOf({ poolLabels: ['agentpool'] }), clock: new FakeClock(), logger: silentLogger() };
  expect(await openRules({ labelDir: undefined, rulesAllowedPrefixes: [] }, options)).toBeUndefined();
  const directory = await openRules({ labelDir: fixture.root, rulesAllowedPrefixes: ['n/', 'agentpool'] }, options);
  expect([...(directory?.ruleSet.labels.keys() ?? [])]).toEqual(['n/a']);
  expect(directory?.problems().map(({ file }) => file)).toEqual(['agentpool', 'm/b']);
});

test('a file that is proposed may be no larger than one that is mounted', async () => {
  const directory = await fixture.open();
  const { problems } = await directory.propose(
    { a: '#'.repeat(64 * 1024 + 1), b: 'x', c: '#'.repeat(64 * 1024) },
    new Slices(),
  );
  expect(problems).toEqual([{ file: 'a', problem: 'is larger than 64 KiB' }]);
});

const COUNT = 900;
/** The largest valid inputs of a megabyte: lines of 32 predicates that name other rules in so many ways. */
const SHAPES: Record<string, (file: number, at: number) => string> = {
  labels: (file, at) => `l${(file * 7919 + at * 31) % COUNT}`,
  negations: (file, at) => `!l${(file * 7919 + at * 31) % COUNT}`,
  patterns: (file, at) => `l*${(file * 7919 + at) % 997}*`,
  'one pattern with values': (_, at) => `*=v${at}`,
  'long patterns': (file, at) => `${'a*'.repeat(25)}${(file * 32 + at) % 10_000}`,
};

test.each(Object.entries(SHAPES))(
  '900 files of a megabyte of %s hold the loop for a moment only, proposed or mounted',
  async (_what, predicate) => {
    const lineOf = (file: number, line: number) =>
      Array.from({ length: 32 }, (_, at) => predicate(file, line * 32 + at)).join('&&');
    const files = Object.fromEntries(
      Array.from({ length: COUNT }, (_, file) => {
        const lines: string[] = [];
        for (let bytes = 0; bytes + lineOf(file, lines.length).length < 1_000_000 / COUNT; ) {
          lines.push(lineOf(file, lines.length));
          bytes += (lines.at(-1)?.length ?? 0) + 1;
        }
        return [`l${file}`, lines.length > 0 ? lines.join('\n') : lineOf(file, 0)];
      }),
    );
    const directory = await fixture.open();
    await directory.propose({ a: 'b' }, new Slices());
    const proposed = await heldMs(() => directory.propose(files, new Slices()));
    expect(proposed.result.problems.length).toBeGreaterThan(0);
    expect(proposed.result.ruleSet.rules.length).toBeGreaterThan(0);
    await fixture.write(files);
    const opened = await heldMs(() => fixture.open());
    // Some 10 ms for a linear cost, and a collection of garbage on a busy machine.
    for (const { ms } of [proposed, opened]) expect(ms).toBeLessThan(100);
    const labels = Object.fromEntries(Array.from({ length: 60 }, (_, n) => [`l${n}x`, 'v1']));
    const judged = await heldMs(async () => proposed.result.ruleSet.evaluate(labels, inventory()));
    expect(judged.ms).toBeLessThan(50);
  },
);

/** The longest time in which the loop did not turn, in CPU time of this thread. */
async function heldMs<T>(work: () => Promise<T>): Promise<{ result: T; ms: number }> {
  let ms = 0;
  let before = process.cpuUsage();
  const note = () => {
    const { user, system } = process.cpuUsage(before);
    ms = Math.max(ms, (user + system) / 1000);
    before = process.cpuUsage();
  };
  let isOver = false;
  const turn = () => {
    note();
    if (!isOver) setImmediate(turn);
  };
  setImmediate(turn);
  const result = await work();
  note();
  isOver = true;
  return { result, ms };
}
