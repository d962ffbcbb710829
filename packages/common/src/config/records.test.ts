import { describe, expect, test } from 'vitest';
import type { RecordsOption } from './option.ts';
import { recordsFromFile } from './records.ts';

const GUESTS: RecordsOption = {
  type: 'records',
  help: '',
  key: 'name',
  max: 3,
  fields: {
    name: {
      type: 'string',
      required: true,
      help: '',
      check: (name) => (name === '' ? 'must not be empty' : undefined),
    },
    port: { type: 'number', min: 1, max: 9, help: '' },
    probe: { type: 'string', choices: ['tcp', 'tls'], help: '' },
  },
};

describe('recordsFromFile', () => {
  test.each<[unknown, unknown]>([
    [[], []],
    [[{ name: 'a' }], [{ name: 'a' }]],
    [
      [{ probe: 'tls', port: 7, name: 'a' }, { name: 'b' }],
      [{ name: 'a', port: 7, probe: 'tls' }, { name: 'b' }],
    ],
    // What is null was left out.
    [[{ name: 'a', port: null }], [{ name: 'a' }]],
  ])('takes %j', (given, value) => {
    expect(recordsFromFile(GUESTS, given)).toEqual({ value });
  });

  test.each<[unknown, string | undefined, RegExp]>([
    [{ name: 'a' }, undefined, /^must be a list$/],
    ['a', undefined, /^must be a list$/],
    [['a'], '[0]', /^must be a mapping with name, port, probe$/],
    [[null], '[0]', /^must be a mapping/],
    [[{ name: 'a' }, [1]], '[1]', /^must be a mapping/],
    [[{ name: 'a', prot: 1 }], '[0].prot', /^unknown field, did you mean port\?$/],
    [[{ name: 'a', constructor: 1 }], '[0].constructor', /^unknown field, there are name, port, probe$/],
    [[{ port: 1 }], '[0].name', /^is required$/],
    [[{ name: null }], '[0].name', /^is required$/],
    [[{ name: '' }], '[0].name', /^must not be empty$/],
    [[{ name: 'a' }, { name: 'b', port: 70 }], '[1].port', /^must be a whole number from 1 to 9, got 70$/],
    [[{ name: 'a', port: '7' }], '[0].port', /^must be a number, got "7"$/],
    [[{ name: 'a', probe: 'udp' }], '[0].probe', /^must be one of tcp, tls, got "udp"$/],
    [[{ name: 'a' }, { name: 'b' }, { name: 'a' }], '[2].name', /^is that of \[0\] already$/],
    [[1, 2, 3, 4], undefined, /^must have at most 3 entries, got 4$/],
  ])('refuses %j and says where', (given, at, problem) => {
    const where = at === undefined ? {} : { at };
    expect(recordsFromFile(GUESTS, given)).toEqual({ problem: expect.stringMatching(problem), ...where });
  });
});
