import { expect, test, vi } from 'vitest';
import { SerialNumbers } from './serial-numbers.ts';

const LIMIT = { timeout: 10_000 };

/** Files whose reads end when the test ends them. */
function slowFiles() {
  const asked: { file: string; answer: (text: string | undefined) => void }[] = [];
  const textLater = (file: string) =>
    new Promise<string | undefined>((answer) => {
      asked.push({ file, answer });
    });
  return { asked, textLater };
}

test('a serial number is known once it was read, and its reader told', async () => {
  const files = slowFiles();
  const onRead = vi.fn();
  const serials = new SerialNumbers(files, onRead);
  expect(serials.get('a', '1')).toBeUndefined();
  expect(serials.get('a', '1')).toBeUndefined();
  files.asked[0]?.answer('A');
  await vi.waitFor(() => expect(onRead).toHaveBeenCalledTimes(1), LIMIT);
  expect(serials.get('a', '1')).toBe('A');
  expect(files.asked).toHaveLength(1);
});

test('serial numbers are read one at a time, and their reader told when all are', async () => {
  const files = slowFiles();
  const onRead = vi.fn();
  const serials = new SerialNumbers(files, onRead);
  for (const file of ['a', 'b', 'c']) serials.get(file, '1');
  expect(files.asked.map(({ file }) => file)).toEqual(['a']);
  serials.keep(new Set(['a', 'c']));
  files.asked[0]?.answer('A');
  await vi.waitFor(() => expect(files.asked.map(({ file }) => file)).toEqual(['a', 'c']), LIMIT);
  expect(onRead).not.toHaveBeenCalled();
  files.asked[1]?.answer(undefined);
  await vi.waitFor(() => expect(onRead).toHaveBeenCalledTimes(1), LIMIT);
  expect(serials.get('c', '1')).toBeUndefined();
});

test('the serial number of a removed device is not taken for the one of its successor', async () => {
  const files = slowFiles();
  const onRead = vi.fn();
  const serials = new SerialNumbers(files, onRead);
  serials.get('a', '1');
  expect(serials.get('a', '2')).toBeUndefined();
  files.asked[0]?.answer('old');
  await vi.waitFor(() => expect(files.asked).toHaveLength(2), LIMIT);
  expect(serials.get('a', '2')).toBeUndefined();
  files.asked[1]?.answer('new');
  await vi.waitFor(() => expect(onRead).toHaveBeenCalledTimes(1), LIMIT);
  expect(serials.get('a', '2')).toBe('new');
});
