import { BUDGETS, type Size, sizeOf, sourceFiles } from './size.ts';

/** `npm run size`: prints how large the production code of each folder is, and how that compares with the budgets. */

const COLUMNS = ['tokens', 'lines', 'files'] as const;

const rowOf = (size: Size, name: string) =>
  `${COLUMNS.map((column) => size[column].toLocaleString('en').padStart(9)).join('')}  ${name}`;
const say = (line: string) => process.stdout.write(`${line}\n`);

const files = sourceFiles();
const [coordinator] = BUDGETS;
say(`${COLUMNS.map((column) => column.padStart(9)).join('')}`);
const production = files.filter(({ path: name }) => coordinator?.of(name));
const folders = Map.groupBy(production, ({ path: name }) => name.split('/').slice(2, -1).slice(0, 2).join('/') || '.');
const sizes = [...folders].map(([folder, own]) => ({ folder, size: sizeOf(own) }));
for (const { folder, size } of sizes.sort((a, b) => b.size.tokens - a.size.tokens)) say(rowOf(size, folder));
for (const { what, of, limit, aim } of BUDGETS) {
  const size = sizeOf(files.filter(({ path: name }) => of(name)));
  const bounds = COLUMNS.flatMap((column) => [
    ...(limit[column] === undefined ? [] : [`at most ${limit[column].toLocaleString('en')} ${column}`]),
    ...(aim[column] === undefined ? [] : [`aim ${aim[column].toLocaleString('en')} ${column}`]),
  ]);
  say(rowOf(size, `${what}: ${bounds.join(', ')}`));
}
