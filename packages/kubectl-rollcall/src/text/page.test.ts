import { expect, test } from 'vitest';
import { Page } from './page.ts';

const narrow = () => new Page({ columns: 30, colors: false });
const piped = () => new Page({ columns: undefined, colors: false });
const colored = () => new Page({ columns: undefined, colors: true });

test('a line is broken where it is too wide, and each part is indented', () => {
  expect(narrow().line('one two three four five six seven', { indent: 4 }).text).toBe(
    '    one two three four five\n    six seven\n',
  );
});

test('a line is never broken into less than 20 columns', () => {
  const page = new Page({ columns: 10, colors: false });
  expect(page.line('seven letters, and so on').text).toBe('seven letters, and\nso on\n');
});

test('an empty line is not indented', () => {
  expect(narrow().line('', { indent: 4 }).line().text).toBe('\n\n');
});

test('a line that is not for a terminal is not broken', () => {
  const text = 'x '.repeat(200).trim();
  expect(piped().line(text).text).toBe(`${text}\n`);
});

test('a field has its name beside its first line only', () => {
  expect(narrow().field('pod', 'one two three four five six', { indent: 2, width: 8 }).text).toBe(
    '  pod     one two three four\n          five six\n',
  );
});

test('a field is never broken into less than 20 columns', () => {
  const page = new Page({ columns: 10, colors: false });
  expect(page.field('pod', 'seven letters, and so on').text).toBe('pod       seven letters, and\n          so on\n');
});

test('a name of a field takes ten columns', () => {
  expect(piped().field('pod', 'a').text).toBe('pod       a\n');
});

test('a cure is one line, however long, to be copied', () => {
  const command = 'kubectl get pods --all-namespaces --output wide';
  expect(narrow().cure(command, 6).text).toBe(`      fix: ${command}\n`);
  expect(narrow().cure('a').text).toBe('fix: a\n');
});

test('what is written one after the other is in this order', () => {
  const page = piped()
    .line('a')
    .field('b', 'c')
    .cure('d')
    .table([{ e: 'f' }], [{ title: 'E', cell: ({ e }) => e }])
    .line('g');
  expect(page.text).toBe('a\nb         c\nfix: d\nE\nf\ng\n');
});

test('each tone has its color', () => {
  const painted = (tone: 'good' | 'bad' | 'doubtful' | 'quiet' | 'strong') => colored().paint('x', tone);
  expect(painted('good')).toBe('\u001b[32mx\u001b[39m');
  expect(painted('bad')).toBe('\u001b[31mx\u001b[39m');
  expect(painted('doubtful')).toBe('\u001b[33mx\u001b[39m');
  expect(painted('quiet')).toBe('\u001b[2mx\u001b[22m');
  expect(painted('strong')).toBe('\u001b[1mx\u001b[22m');
});

test('text without a tone, and no text, is not painted', () => {
  expect(colored().paint('x', undefined)).toBe('x');
  expect(colored().paint('', 'bad')).toBe('');
});

test('the name of a field is quiet in its first line, and the text has its tone in each', () => {
  const page = new Page({ columns: 30, colors: true });
  expect(page.field('pod', 'one two three four five', { tone: 'bad' }).text).toBe(
    '\u001b[2mpod       \u001b[22m\u001b[31mone two three four\u001b[39m\n          \u001b[31mfive\u001b[39m\n',
  );
});

test('the head of a table is strong', () => {
  expect(colored().table([{ a: 'x' }], [{ title: 'A', cell: ({ a }) => a }]).text).toBe('\u001b[1mA\u001b[22m\nx\n');
});
