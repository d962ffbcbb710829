import { describe, expect, expectTypeOf, test } from 'vitest';
import { flagName, nearest, type OptionTable, type OptionValues } from './option.ts';

test.each([
  ['listen', '--listen'],
  ['probePeriodMs', '--probe-period-ms'],
  ['hostIp', '--host-ip'],
])('%s is %s on the command line', (key, flag) => {
  expect(flagName(key)).toBe(flag);
});

describe('nearest', () => {
  const flags = ['node-name', 'listen', 'verbose', 'coordinator-server-name'];

  test.each([
    ['node-nmae', 'node-name'],
    ['nodename', 'node-name'],
    ['listne', 'listen'],
    ['coordinator-servername', 'coordinator-server-name'],
    ['coordinatr-srvr-nme', 'coordinator-server-name'],
  ])('takes %s for %s', (written, meant) => {
    expect(nearest(written, flags)).toBe(meant);
  });

  test.each(['kubeconfig', 'x', 'name'])('does not guess what %s was meant to be', (written) => {
    expect(nearest(written, flags)).toBeUndefined();
  });

  test('takes the first of those that are equally near', () => {
    expect(nearest('listex', ['listed', 'listen'])).toBe('listed');
  });

  test('has nothing to offer where there is nothing', () => {
    expect(nearest('a', [])).toBeUndefined();
  });
});

test('the type of a value follows from its option', () => {
  const table = {
    level: { type: 'string', choices: ['low', 'high'], default: 'low', help: '' },
    name: { type: 'string', help: '' },
    port: { type: 'number', min: 1, max: 2, default: 1, help: '' },
    urls: { type: 'list', help: '' },
    quiet: { type: 'boolean', default: false, help: '' },
  } as const satisfies OptionTable;
  expectTypeOf<OptionValues<typeof table>>().toEqualTypeOf<{
    level: 'low' | 'high';
    name: string | undefined;
    port: number;
    urls: string[] | undefined;
    quiet: boolean;
  }>();
});
