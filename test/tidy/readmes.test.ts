import { expect, test } from 'vitest';
import { LONG_READMES, UNFINISHED_READMES } from './rooms.ts';
import { repositoryFiles } from './sources.ts';

/** Read in two minutes: what comes in, what goes out, what the room never does, and its files. */
const WORDS_MAX = 500;

const readmes = repositoryFiles().filter(({ path: name }) =>
  /^(agent|coordinator|packages\/(common|console-page|kubectl-rollcall|scheduler-extender))\/(.*\/)?README\.md$/.test(
    name,
  ),
);

test('every README of a room says what comes in, what goes out, and what the room never does', () => {
  expect(readmes.length).toBeGreaterThan(35);
  const unfinished = readmes.filter(({ text }) =>
    ['In', 'Out', 'Never'].some((word) => !new RegExp(`(^|[.] )\\*\\*${word}:\\*\\* `, 'm').test(text)),
  );
  expect(unfinished.map(({ path: name }) => name).toSorted()).toEqual([...UNFINISHED_READMES].toSorted());
});

test('every README of a room is short: what explains a decision is in a design record', () => {
  const long = readmes.filter(({ text }) => text.split(/\s+/).length > WORDS_MAX);
  expect(long.map(({ path: name }) => name).toSorted()).toEqual([...LONG_READMES].toSorted());
});
