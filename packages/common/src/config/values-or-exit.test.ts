import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { CodedError } from '../coded-error.ts';
import { valuesOrExit } from './values-or-exit.ts';

/** The process ends here. */
class Exit extends Error {}

beforeEach(() => {
  vi.spyOn(process, 'exit').mockImplementation((code) => {
    throw new Exit(`exit with ${code}`);
  });
});

afterEach(() => void vi.restoreAllMocks());

test('the values to run with are given, and the process goes on', async () => {
  expect(await valuesOrExit('tester', async () => ({ action: 'run', values: { port: 1 } }))).toEqual({ port: 1 });
  expect(process.exit).not.toHaveBeenCalled();
});

test('the process ends well after what was asked for is printed', async () => {
  await expect(valuesOrExit('tester', async () => ({ action: 'print', text: '' }))).rejects.toThrow('exit with 0');
});

test('what is wrong with anything but the configuration is thrown', async () => {
  const broken = new CodedError('LISTEN_FAILED', 'Cannot listen');
  await expect(valuesOrExit('tester', () => Promise.reject(broken))).rejects.toBe(broken);
  expect(process.exit).not.toHaveBeenCalled();
});
