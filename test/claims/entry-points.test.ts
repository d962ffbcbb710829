import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { isTestCode, repositoryFiles } from '../tidy/sources.ts';
import { ENTRY_POINTS } from './entry-points.ts';

const ROOT = path.join(import.meta.dirname, '../..');
/** Opens a listener, or turns bytes into values. */
const ENTERS = /\b(?:createPlainServer|createLimitedServer|JSON\.parse|parseJson|parseYaml|parseDocument)\(/;
/** CPU as a multiple of JSON.parse of the same bytes, beyond what a clock of milliseconds can tell. */
const CPU_TIMES_MAX = 60;
const CPU_SLACK_MS = 5;
/** Slices of work; generous, since other programs use the machine. */
const HELD_MS_MAX = 250;

test('every file that opens a listener or parses is in the table', () => {
  const files = repositoryFiles().filter(
    (file) =>
      /^(?:coordinator|packages\/(?:common|scheduler-extender))\/src\/.*\.ts$/.test(file.path) &&
      !isTestCode(file.path),
  );
  const entering = files.filter(({ text }) =>
    text.split('\n').some((line) => ENTERS.test(line) && !/^\s*(?:\*|\/\/|export function|function)/.test(line)),
  );
  expect(files.length).toBeGreaterThan(200);
  const listed = ENTRY_POINTS.map(({ file }) => file);
  expect(entering.map((file) => file.path).filter((file) => !listed.includes(file))).toEqual([]);
  expect(listed.filter((file) => !files.some((each) => each.path === file))).toEqual([]);
});

test.each(ENTRY_POINTS.flatMap(({ file, routes = [] }) => (routes.length > 0 ? [{ file, routes }] : [])))(
  'every route of $file is in the table',
  ({ file, routes }) => {
    const source = readFileSync(path.join(ROOT, file), 'utf8');
    const found = [...source.matchAll(/'(\/(?:v1|scheduler)\/[a-z/]+|\/status)'/g)].map(([, route]) => route);
    expect([...new Set(found)].filter((route) => !routes.includes(route ?? ''))).toEqual([]);
  },
);

const cases = ENTRY_POINTS.flatMap(({ file, feed, bytesMax = 0, shapes = [] }) =>
  feed ? shapes.map((shape) => ({ file, feed, bytesMax, shape, name: shape.name })) : [],
);

/** Milliseconds of CPU of the quicker of two runs. */
async function cpuMs(work: () => unknown): Promise<number> {
  let best = Number.POSITIVE_INFINITY;
  for (let run = 0; run < 2; run += 1) {
    const before = process.cpuUsage();
    await work();
    const { user, system } = process.cpuUsage(before);
    best = Math.min(best, (user + system) / 1000);
  }
  return best;
}

async function quietly(work: () => unknown): Promise<void> {
  try {
    await work();
  } catch {
    // A refusal.
  }
}

test.each(cases)('$file takes the largest input in time: $name', async ({ feed, bytesMax, shape }) => {
  const costs: number[] = [];
  for (const bytes of [bytesMax / 2, bytesMax]) {
    const input = Buffer.from(shape.of(bytes));
    expect(input.length).toBeLessThanOrEqual(bytesMax);
    const text = input.toString();
    const parsed = await cpuMs(() =>
      quietly(() => JSON.parse(text.startsWith('{') || text.startsWith('[') ? text : JSON.stringify(text))),
    );
    // The least of three: the first may compile, and another collect garbage.
    let cost = Number.POSITIVE_INFINITY;
    for (let time = 0; time < 3; time += 1) cost = Math.min(cost, await cpuMs(() => quietly(() => feed(input))));
    expect(cost).toBeLessThan(CPU_TIMES_MAX * parsed + CPU_SLACK_MS);
    costs.push(cost);
  }
  const [half = 0, whole = 0] = costs;
  expect(whole).toBeLessThan(HELD_MS_MAX);
  // Linear: twice the bytes cost no more than three times as much, and a collection of garbage.
  expect(whole).toBeLessThan(3 * half + 4 * CPU_SLACK_MS);
});
