import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { ROOT, repositoryFiles } from '../tidy/sources.ts';

const FOLDER = 'deploy/services';
const rows = readFileSync(path.join(ROOT, 'packages/docs/how-to/services.md'), 'utf8')
  .split('\n')
  .filter((line) => line.startsWith('| [`'))
  .map((line) => line.split('|').map((cell) => cell.trim()));
const manifests = repositoryFiles().filter(({ path: name }) => name.startsWith(`${FOLDER}/`) && name.endsWith('.yaml'));
const linkTo = (file: string) => `[\`${file}\`](../../../${FOLDER}/${file})`;

test('each row is of a file', () => {
  expect(rows.map(([, link]) => link)).toEqual(
    manifests.map(({ path: name }) => linkTo(path.basename(name))).toSorted(),
  );
});

test.each(manifests)('$path has a row with its source, and says as there whether agents need uid 0', (manifest) => {
  const [, , shows, opens, source, isRoot] =
    rows.find(([, link]) => link === linkTo(path.basename(manifest.path))) ?? [];
  expect([shows, opens].map((cell = '') => cell.length > 20)).toEqual([true, true]);
  const comment = manifest.text.replaceAll('\n# ', ' ');
  expect(/Checked against (\S+ (?:at )?[\w.-]+\w)/.exec(comment)?.[1]).toBe(source);
  expect(/^# agent[.]probePaths:/m.test(manifest.text)).toBe(isRoot === 'yes');
});
