import { CodedError } from '@rollcall/common/coded-error.ts';
import type { Logger } from '@rollcall/common/logging.ts';
import { expect, test } from 'vitest';
import { DeliveryLog } from './reporter.ts';

function unreachable(coordinator: string, message = 'refused') {
  return new CodedError('COORDINATOR_UNREACHABLE', message, { fields: { coordinator } });
}

function recording() {
  const lines: string[] = [];
  const keep = (_fields: unknown, message: string) => lines.push(message);
  return { lines, log: new DeliveryLog({ info: keep, warn: keep } as unknown as Logger) };
}

test('says the same cause once, each change of it, and the end', () => {
  const { lines, log } = recording();
  log.accepted('a');
  log.failed(unreachable('a'));
  log.failed(unreachable('a'));
  log.failed(new CodedError('COORDINATOR_REFUSED', '403', { fields: { coordinator: 'a' } }));
  log.failed(unreachable('a'));
  log.accepted('a');
  log.accepted('a');
  expect(lines).toEqual([
    'Delivered the first report',
    'Could not deliver a report',
    'Had a report refused',
    'Could not deliver a report',
    'Delivered reports again',
  ]);
});

test('is not made to repeat itself by two coordinators that fail in turns', () => {
  const { lines, log } = recording();
  for (let i = 0; i < 5; i += 1) {
    log.failed(unreachable('a', 'x'));
    log.failed(unreachable('b', 'y'));
  }
  expect(lines).toHaveLength(2);
});

test('says once that the token is missing, however many coordinators there are', () => {
  const { lines, log } = recording();
  for (let i = 0; i < 5; i += 1) log.failed(new CodedError('TOKEN_UNREADABLE', 'no token'));
  expect(lines).toHaveLength(1);
});
