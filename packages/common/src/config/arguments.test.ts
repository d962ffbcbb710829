import { describe, expect, test } from 'vitest';
import { parseArguments } from './arguments.ts';
import type { OptionTable } from './option.ts';

const TABLE = {
  nodeName: { type: 'string', help: '' },
  labelDir: { type: 'string', alias: 'labels', help: '' },
  port: { type: 'number', min: 1, max: 9, help: '' },
  urls: { type: 'list', help: '' },
  jsonLog: { type: 'boolean', short: 'j', help: '' },
  verbose: { type: 'boolean', short: 'v', help: '' },
} as const satisfies OptionTable;

function values(...argv: string[]) {
  return Object.fromEntries(parseArguments(TABLE, argv).values);
}

function invalid(message: string | RegExp) {
  return expect.objectContaining({ code: 'CONFIG_INVALID', message: expect.stringMatching(message) });
}

describe('parseArguments', () => {
  test.each<[string[], Record<string, string>]>([
    [['--node-name', 'n'], { nodeName: 'n' }],
    [['--node-name=n'], { nodeName: 'n' }],
    [['--node-name=a=b'], { nodeName: 'a=b' }],
    [['--node-name='], { nodeName: '' }],
    [['--node-name', '--verbose'], { nodeName: '--verbose' }],
    [['-label-dir', 'x'], { labelDir: 'x' }],
    [['-label-dir=x'], { labelDir: 'x' }],
    [['-labels', 'x'], { labelDir: 'x' }],
    [['--labels=x'], { labelDir: 'x' }],
    [['--port', '-1'], { port: '-1' }],
    [['--urls', 'a,b'], { urls: 'a,b' }],
    [['--verbose'], { verbose: 'true' }],
    [['-v'], { verbose: 'true' }],
    [['-v', '--port', '1'], { verbose: 'true', port: '1' }],
    [['--verbose=true'], { verbose: 'true' }],
    [['--verbose=false'], { verbose: 'false' }],
    [['--no-verbose'], { verbose: 'false' }],
    [['-no-verbose'], { verbose: 'false' }],
    [['-j=false'], { jsonLog: 'false' }],
    [['-v', '--no-verbose', '--port=1', '--port=2'], { verbose: 'false', port: '2' }],
    [[], {}],
  ])('reads %j', (argv, expected) => {
    expect(values(...argv)).toEqual(expected);
  });

  test.each<[string[], RegExp]>([
    [['--node-nmae=n'], /^unknown flag --node-nmae, did you mean --node-name\?$/],
    [['-verbos'], /^unknown flag -verbos, did you mean --verbose\?$/],
    [['--hlep'], /did you mean --help\?/],
    [['--kubeconfig=x'], /^unknown flag --kubeconfig, see --help$/],
    [['-x'], /^unknown flag -x, see --help$/],
    [['--no-node-name'], /^unknown flag --no-node-name/],
    [['--no-verbose=true'], /^--no-verbose: takes no value$/],
    [['--help=yes'], /^--help: must be true or false$/],
    [['--no-version=true'], /^--no-version: takes no value$/],
    [['--node-name'], /^--node-name: needs a value$/],
    [['--port', '1', '-labels'], /^--label-dir: needs a value$/],
    [['--verbose', 'true'], /^unexpected argument "true"/],
    [['run'], /^unexpected argument "run"/],
    [['--'], /^unexpected argument "--"/],
    [['-'], /^unexpected argument "-"/],
    [[''], /^unexpected argument ""/],
    [['---verbose'], /^unexpected argument "---verbose"/],
  ])('refuses %j', (argv, message) => {
    expect(() => parseArguments(TABLE, argv)).toThrow(invalid(message));
  });

  test.each([
    [['--help'], 'help'],
    [['-help'], 'help'],
    [['-h'], 'help'],
    [['--version'], 'version'],
    [['--node-name=n', '--print-config', '-v'], 'print-config'],
    [['-v'], 'run'],
    [['--help=true'], 'help'],
    [['--version=false'], 'run'],
    [['--no-print-config'], 'run'],
    [['--print-config', '--print-config=false'], 'run'],
    [['--help', '--no-version'], 'help'],
  ])('takes %j as %s', (argv, action) => {
    expect(parseArguments(TABLE, argv).action).toBe(action);
  });

  test('knows no option that only every object has', () => {
    expect(() => values('--constructor', 'x')).toThrow(invalid(/^unknown flag/));
  });
});
