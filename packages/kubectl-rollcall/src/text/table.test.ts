import { expect, test } from 'vitest';
import { type Column, table } from './table.ts';

type Row = { a: string; b: string; n: number };
const A: Column<Row> = { title: 'A', cell: ({ a }) => a, gives: true };
const B: Column<Row> = { title: 'B', cell: ({ b }) => b, gives: true };
const N: Column<Row> = { title: 'COUNT', cell: ({ n }) => String(n), isNumber: true };
const row = { a: 'abcdefghijklmnopqrst', b: '0123456789ABCDEFGHIJKLMN', n: 7 };

test('a table that fits is not shortened', () => {
  const width = 20 + 24 + 3;
  expect(table([row], [A, B], width)[1]).toBe(`${row.a}   ${row.b}`);
});

test('a table that is one column too wide takes it from its widest column', () => {
  expect(table([row], [A, B], 20 + 24 + 2)[1]).toBe(`${row.a}   0123456789A…DEFGHIJKLMN`);
});

test('columns that are as wide as each other give way in turn', () => {
  const [, line = ''] = table([row], [A, B], 20 + 20 + 1);
  expect(line.split('   ').map((cell) => cell.length)).toEqual([19, 19]);
});

test('a column that does not give way is not shortened', () => {
  const [, line = ''] = table([row], [A, { ...B, gives: false }], 40);
  expect(line.split('   ')).toEqual(['abcdef…opqrst', row.b]);
});

test('no column becomes narrower than six, even where the table is too wide then', () => {
  const [, line = ''] = table([row], [A, B], 5);
  expect(line.split('   ')).toEqual(['abc…st', '012…MN']);
});

test('columns become narrower than twelve only where nothing else helps', () => {
  const [, line = ''] = table([row], [A, { ...B, gives: false }], 24 + 3 + 8);
  expect(line.split('   ')).toEqual(['abcd…rst', row.b]);
});

test('numbers stand at the right, below their title', () => {
  expect(table([row, { ...row, n: 123_456 }], [N, { ...A, gives: false }], undefined)).toEqual([
    ' COUNT   A',
    `     7   ${row.a}`,
    `123456   ${row.a}`,
  ]);
});
