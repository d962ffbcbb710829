import { expect, test } from 'vitest';
import type { RuleProblem } from '../parse-rule-file.ts';
import { type FoundFile, isSameScan, problemsOf, rulesAfter, type Scan } from './scan.ts';

const conditionsOf = (text: string) => [{ line: 1, text, literals: [], value: 'true' }];

function found(label: string, text: string | undefined, problems: RuleProblem[] = []): FoundFile {
  const conditions = text === undefined ? undefined : conditionsOf(text);
  return { label, fingerprint: text ?? '! fault', conditions, problems };
}

function scan(files: Record<string, string | undefined>, change: Partial<Scan> = {}): Scan {
  const entries = Object.entries(files).map(([file, text]) => [file, found(file, text)] as const);
  return { files: new Map(entries), unlisted: new Map(), problems: [], ignored: [], ...change };
}

/** Rules as `file text`; the text is undefined if the content is unknown. */
const said = (rules: ReturnType<typeof rulesAfter>) =>
  rules.map(({ file, conditions }) => `${file} ${conditions?.map(({ text }) => text)}`);

const BEFORE = rulesAfter(scan({ 'n/a': 'x', b: 'y', 'm/c': 'z' }), []);

test('there is a rule for each file, in the order of the paths', () => {
  expect(said(BEFORE)).toEqual(['b y', 'm/c z', 'n/a x']);
  expect(said(rulesAfter(scan({ b: 'new' }), BEFORE))).toEqual(['b new']);
});

test('a file that cannot be read says what it said before, and one that was never read is unknown', () => {
  expect(said(rulesAfter(scan({ b: undefined, d: undefined }), BEFORE))).toEqual(['b y', 'd undefined']);
});

test('rules in a directory that cannot be listed stay, and the others go', () => {
  const unlisted = new Map([['n', 'cannot be listed (EACCES)']]);
  expect(said(rulesAfter(scan({}, { unlisted }), BEFORE))).toEqual(['n/a x']);
  const all = new Map([['.', 'does not exist']]);
  expect(said(rulesAfter(scan({}, { unlisted: all }), BEFORE))).toEqual(['b y', 'm/c z', 'n/a x']);
});

test('rules stay in what cannot be told to be a directory, and go where it is a file', () => {
  expect(said(rulesAfter(scan({ n: undefined }), BEFORE))).toEqual(['n undefined', 'n/a x']);
  expect(said(rulesAfter(scan({ n: 'x' }), BEFORE))).toEqual(['n x']);
});

test('two scans are the same where files, faults and what could not be listed are', () => {
  const a = scan({ b: 'y' });
  expect(isSameScan(a, scan({ b: 'y' }))).toBe(true);
  const unlisted = new Map([['n', 'fault']]);
  const problems = [{ file: 'x', problem: 'p' }];
  for (const other of [
    scan({ b: 'z' }),
    scan({ c: 'y' }),
    scan({ b: 'y' }, { unlisted }),
    scan({ b: 'y' }, { problems }),
  ]) {
    expect(isSameScan(a, other)).toBe(false);
  }
});

test('what is wrong is told by path, and by line within a file', () => {
  const files = new Map([
    [
      'b',
      found('b', 'y', [
        { file: 'b', line: 2, problem: 'second' },
        { file: 'b', problem: 'all of it' },
        { file: 'b', line: 7, problem: 'seventh' },
      ]),
    ],
    ['a', found('a', 'x', [{ file: 'a', line: 9, problem: 'ninth' }])],
  ]);
  const unlisted = new Map([['n', 'cannot be listed (EACCES)']]);
  const told = problemsOf({ ...scan({}), files, unlisted, problems: [{ file: 'c', problem: 'is odd' }] });
  expect(told.map(({ file, problem }) => `${file}: ${problem}`)).toEqual([
    'a: ninth',
    'b: all of it',
    'b: second',
    'b: seventh',
    'c: is odd',
    'n: cannot be listed (EACCES); labels of the rules in it stay as they are',
  ]);
});
