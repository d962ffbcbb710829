import { symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { silentLogger } from '@rollcall/common/logging.ts';
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
  const { ruleSet, problems } = directory.propose({ 'n/b': 'y', c: 'n/b' });
  expect(problems).toEqual([]);
  expect([...ruleSet.evaluate({ y: '' }, inventory()).implied.keys()]).toEqual(['c', 'n/b']);
  expect([...ruleSet.labels.keys()]).toEqual(['c', 'n/a', 'n/b']);
  expect(fixture.implied('x', 'y')).toEqual(['n/a', 'n/b']);
});

test('what is wrong with proposed files is told by file and line, and the good lines count', async () => {
  await fixture.write({ 'n/a': 'x' });
  const directory = await fixture.open();
  const files = { 'n/b': 'x\nno label', 'a/b/c': 'x', 'gitpod.io/x': 'x', 'n/a': 'y' };
  const { ruleSet, problems } = directory.propose(files);
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
