import { expect, test, vi } from 'vitest';
import { guarded } from './guarded.ts';
import { silentLogger } from './logging.ts';

test('an exception is logged with the part that it came from, and goes no further', () => {
  const logger = { ...silentLogger(), error: vi.fn() } as never as ReturnType<typeof silentLogger>;
  const err = new RangeError('Maximum call stack size exceeded');
  const fail = () => {
    throw err;
  };
  expect(guarded(logger, 'devices', fail)).toBe(false);
  expect(logger.error).toHaveBeenCalledWith({ err, part: 'devices' }, expect.any(String));
  expect(guarded(logger, 'devices', () => {})).toBe(true);
  expect(logger.error).toHaveBeenCalledTimes(1);
});
