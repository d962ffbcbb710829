import { describe, expect, test } from 'vitest';
import { VERSION } from '../version.ts';
import { type ConfigSources, configInvalid, loadConfiguration } from './load.ts';
import type { OptionTable } from './option.ts';

const PROGRAM = {
  name: 'tester',
  summary: 'tests',
  kind: 'TesterConfiguration',
  options: {
    name: { type: 'string', env: ['TESTER_NAME', 'OLD_NAME'], default: 'default', help: 'A name.' },
    port: { type: 'number', min: 1, max: 9, default: 1, help: 'A port.' },
    verbose: { type: 'boolean', default: false, env: ['VERBOSE'], help: 'More.' },
    urls: { type: 'list', help: 'Some URLs.' },
    password: { type: 'string', secret: true, help: 'A password.' },
    once: { type: 'boolean', default: false, flagOnly: true, help: 'Once.' },
    config: { type: 'string', flagOnly: true, help: 'File.' },
    poolName: { type: 'string', help: 'A name.' },
    poolUrls: { type: 'list', help: 'Some URLs.' },
  } as const satisfies OptionTable,
  gone: { services: 'is no longer a list' },
};

const HEAD = 'apiVersion: rollcall.dev/v1alpha1\nkind: TesterConfiguration\n';

type Given = { argv?: string[]; env?: Record<string, string>; file?: string };

function load({ argv = [], env = {}, file }: Given) {
  const readFile: ConfigSources['readFile'] = (path) => {
    if (file === undefined || path !== '/c') throw new Error(`ENOENT: ${path}`);
    return file;
  };
  const all = file === undefined ? argv : [...argv, '--config=/c'];
  return loadConfiguration(PROGRAM, { argv: all, env, readFile }, (values, fieldOf) => {
    if (values.name === 'impossible') throw configInvalid(fieldOf('name'), 'is impossible');
    if (values.poolName === 'impossible') throw configInvalid(fieldOf('poolName'), 'is impossible');
    if (values.port === 9) throw configInvalid(fieldOf('urls'), 'is missing');
    return values;
  });
}

async function values(given: Given) {
  const loaded = await load(given);
  if (loaded.action !== 'run') throw new Error('nothing to run');
  return loaded.values;
}

async function printed(given: Given) {
  const loaded = await load(given);
  if (loaded.action !== 'print') throw new Error('nothing to print');
  return loaded.text;
}

function invalid(message: string | RegExp) {
  return expect.objectContaining({ code: 'CONFIG_INVALID', message: expect.stringMatching(message) });
}

describe('where a value comes from', () => {
  const sources: [string, Given][] = [
    ['flag', { argv: ['--name=flag'] }],
    ['environment', { env: { TESTER_NAME: 'environment', OLD_NAME: 'older' } }],
    ['file', { file: `${HEAD}name: file` }],
  ];

  test('is the default when it is not set', async () => {
    expect(await values({})).toMatchObject({ name: 'default', port: 1, urls: undefined });
  });

  test.each(sources.map(([name], index) => [name, index] as const))(
    'is the %s before what comes after it',
    async (name, index) => {
      const given = Object.assign({}, ...sources.slice(index).map(([, source]) => source)) as Given;
      expect((await values(given)).name).toBe(name);
    },
  );

  test('is the next variable when the first is empty', async () => {
    expect((await values({ env: { TESTER_NAME: '', OLD_NAME: 'older' } })).name).toBe('older');
  });

  test('is the default where the file says null', async () => {
    expect((await values({ file: `${HEAD}name: null` })).name).toBe('default');
  });

  test('is the flag also when it says no', async () => {
    expect((await values({ argv: ['--no-verbose'], env: { VERBOSE: 'true' } })).verbose).toBe(false);
  });
});

describe('a configuration file', () => {
  test('may hold every type, in YAML or in JSON', async () => {
    const expected = { name: 'n', port: 7, verbose: true, urls: ['a', 'b'] };
    expect(await values({ file: `${HEAD}name: n\nport: 7\nverbose: true\nurls: [a, b]\n` })).toMatchObject(expected);
    const document = { apiVersion: 'rollcall.dev/v1alpha1', kind: 'TesterConfiguration', ...expected };
    expect(await values({ file: JSON.stringify(document) })).toMatchObject(expected);
  });

  test.each<[string, string, RegExp]>([
    ['an unknown field', `${HEAD}nmae: x`, /^\/c: nmae: unknown field, did you mean name\?$/],
    ['a field that is like no other', `${HEAD}kubernetes: x`, /^\/c: kubernetes: unknown field$/],
    ['a field that is for the command line', `${HEAD}once: true`, /^\/c: once: unknown field/],
    ['a wrong type', `${HEAD}port: "7"`, /^\/c: port: must be a number/],
    ['a value out of range', `${HEAD}port: 70`, /^\/c: port: .*from 1 to 9/],
    ['another version', 'apiVersion: rollcall.dev/v9\nkind: TesterConfiguration', /^\/c: apiVersion: must be/],
    ['another kind', 'apiVersion: rollcall.dev/v1alpha1\nkind: Pod', /^\/c: kind: must be TesterConfiguration/],
    ['a list', '- a', /^--config: \/c must contain a YAML mapping/],
    ['nothing', '', /^--config: \/c must contain a YAML mapping/],
    ['what is no YAML', '{a: [', /^--config: cannot read \/c: [^\n]+$/],
  ])('with %s is refused', async (_what, file, message) => {
    await expect(load({ file })).rejects.toThrow(invalid(message));
  });

  test('may have options in groups', async () => {
    const expected = { poolName: 'a', poolUrls: ['x'], name: 'n' };
    expect(await values({ file: `${HEAD}name: n\npool:\n  name: a\n  urls: [x]\n` })).toMatchObject(expected);
    expect(await values({ file: `${HEAD}name: n\npoolName: a\npool: {urls: [x]}\n` })).toMatchObject(expected);
  });

  test.each<[string, string, RegExp]>([
    ['an unknown field in a group', 'pool: {nmae: a}', /^\/c: pool\.nmae: unknown field, did you mean pool\.name\?$/],
    ['an unknown field that is like none', 'pool: {kubernetes: a}', /^\/c: pool\.kubernetes: unknown field$/],
    ['a wrong value in a group', 'pool: {urls: 1}', /^\/c: pool\.urls: must be a list of strings$/],
    ['a value in a group that does not fit', 'pool: {name: impossible}', /^\/c: pool\.name: is impossible$/],
    [
      'a field in a group and beside it',
      'poolName: a\npool: {name: b}',
      /^\/c: pool\.name: is set twice, also as \/c: poolName$/,
    ],
    ['a group that is text', 'pool: a', /^\/c: pool: unknown field/],
    ['a group that is a list', 'pool: [a]', /^\/c: pool: unknown field/],
    ['a group that is empty', 'pool:', /^\/c: pool: unknown field/],
    ['a group that is none', 'poo: {lName: a}', /^\/c: poo: unknown field/],
    ['an option that is taken for a group', 'name: {x: a}', /^\/c: name: must be a string/],
    ['a field that is gone', 'services: []', /^\/c: services: is no longer a list$/],
  ])('with %s is refused', async (_what, text, message) => {
    await expect(load({ file: `${HEAD}${text}\n` })).rejects.toThrow(invalid(message));
  });

  test.each<[string, Given]>([
    ['a flag', { argv: ['--port=2'], file: `${HEAD}port: 70` }],
    ['a variable', { env: { VERBOSE: 'true' }, file: `${HEAD}verbose: loud` }],
  ])('with a wrong value is refused also where %s counts', async (_what, given) => {
    await expect(load(given)).rejects.toThrow(invalid(/^\/c: (port|verbose): must be/));
  });

  test('that is not there is refused', async () => {
    await expect(load({ argv: ['--config', '/nowhere'] })).rejects.toThrow(
      invalid(/^--config: cannot read \/nowhere: ENOENT/),
    );
    await expect(load({ argv: ['--config='] })).rejects.toThrow(invalid(/^--config: must be the path of a file$/));
  });
});

describe('what is wrong', () => {
  test.each<[Given, RegExp]>([
    [{ argv: ['--port=x'] }, /^--port: must be a number/],
    [{ env: { VERBOSE: 'loud' } }, /^VERBOSE: must be true or false/],
    [{ argv: ['--name=impossible'] }, /^--name: is impossible$/],
    [{ env: { OLD_NAME: 'impossible' } }, /^OLD_NAME: is impossible$/],
    [{ file: `${HEAD}name: impossible` }, /^\/c: name: is impossible$/],
    [{ argv: ['--port=9'] }, /^--urls: is missing$/],
  ])('is named as the reader wrote it: %j', async (given, message) => {
    await expect(load(given)).rejects.toThrow(invalid(message));
  });
});

test('a variable that a flag covers may be for another program', async () => {
  expect(await values({ argv: ['--verbose'], env: { VERBOSE: 'loud' } })).toMatchObject({ verbose: true });
});

describe('what is printed', () => {
  test('is the effective configuration, as a configuration file, without secrets', async () => {
    const text = await printed({ argv: ['--print-config', '--password=hush', '--once'], env: { TESTER_NAME: 'n' } });
    expect(JSON.parse(text)).toEqual({
      apiVersion: 'rollcall.dev/v1alpha1',
      kind: 'TesterConfiguration',
      name: 'n',
      port: 1,
      verbose: false,
      password: '***',
    });
  });

  test('can be read again', async () => {
    const file = `${HEAD}name: a\nurls: [x]\n`;
    const text = await printed({ argv: ['--print-config'], file });
    expect(await values({ file: text })).toEqual(await values({ file }));
  });

  test('is no configuration when that is wrong', async () => {
    await expect(load({ argv: ['--print-config', '--port=0'] })).rejects.toThrow(invalid(/^--port/));
  });

  test('is the help, whatever else is wrong', async () => {
    expect(await printed({ argv: ['--help', '--name=impossible'], env: { VERBOSE: 'loud' } })).toMatch(
      /^tester: tests\n/,
    );
  });

  test('is the version', async () => {
    expect(await printed({ argv: ['--version'] })).toBe(`tester ${VERSION}\n`);
  });
});
