import { mkdir, rm } from 'node:fs/promises';
import { isLabelKey } from '@rollcall/common/label-syntax.ts';
import { fuzzRuns } from '@rollcall/common/testing/fuzz.ts';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { RuleDirectoryFixture } from './rule-directory.test-fixtures.ts';

let fixture: RuleDirectoryFixture;

beforeEach(async () => {
  fixture = await RuleDirectoryFixture.create();
});

afterEach(() => fixture.close());

describe('opening a label directory', () => {
  test('takes no more than 1,000 files, and reports it', async () => {
    await fixture.write(Object.fromEntries(Array.from({ length: 1003 }, (_, n) => [`x${n.toString(36)}`, 'a'])));
    await fixture.open();
    expect(fixture.labels).toHaveLength(1000);
    expect(fixture.problems).toEqual(['.: has too many rule files: 3 after the first 1000 are left out']);
  });

  test('of any content never fails, and gives only labels that are valid', async () => {
    const pieces = fc.constantFrom('a', 'B', '.', '-', '~', ' ', '*', '#');
    const names = fc.oneof(
      fc.array(pieces, { minLength: 1, maxLength: 4 }).map((all) => all.join('')),
      fc.string({ unit: 'grapheme', minLength: 1, maxLength: 5 }).map((name) => name.replace(/[/\0]/g, 'x')),
    );
    const paths = fc.array(names, { minLength: 1, maxLength: 3 }).map((parts) => parts.join('/'));
    const contents = fc.oneof(fc.string(), fc.uint8Array(), fc.constantFrom('a', '*', 'resource:x', '\r\n'));
    const trees = fc.array(fc.tuple(paths, contents), { maxLength: 5 });
    await fc.assert(
      fc.asyncProperty(trees, async (tree) => {
        await rm(fixture.root, { recursive: true });
        await mkdir(fixture.root);
        // A path may need a directory where a file is.
        for (const [path, content] of tree) await fixture.write({ [path]: content }).catch(() => {});
        await fixture.open();
        expect(fixture.implied('a', 'b').filter((label) => !isLabelKey(label))).toEqual([]);
      }),
      { numRuns: fuzzRuns(300) },
    );
  });
});
