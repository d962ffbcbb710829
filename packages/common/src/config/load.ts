import { CodedError, describeError } from '../coded-error.ts';
import { VERSION } from '../version.ts';
import { parseArguments } from './arguments.ts';
import { helpText } from './help.ts';
import { flagName, nearest, type Option, type OptionTable, type OptionValues } from './option.ts';
import { type Converted, fromFile, fromText } from './values.ts';

const CONFIG_API_VERSION = 'rollcall.dev/v1alpha1';

/** What a program is told from outside. The composition root hands it in; nothing here reads the process. */
export type ConfigSources = {
  argv: readonly string[];
  env: Readonly<Record<string, string | undefined>>;
  /** Reads a file as UTF-8 text. Throws what node:fs throws. */
  readFile: (path: string) => string;
};

export type ProgramDescription<T extends OptionTable> = {
  name: string;
  summary: string;
  /** `kind` of the configuration file. */
  kind: string;
  options: T;
  /** Fields of the file that were known once, and what to do instead. */
  gone?: Readonly<Record<string, string>>;
};

/** Run with these values, or print this text on standard output and exit with 0. */
export type Loaded<C> = { action: 'run'; values: C } | { action: 'print'; text: string };

/**
 * Reads the configuration of a program: flag before environment variable before `--config` file before default.
 * `complete` fills in defaults that depend on other values, and checks what concerns several options at once.
 * Throws CONFIG_INVALID with one line that names the field.
 */
export async function loadConfiguration<T extends OptionTable, C extends OptionValues<T>>(
  program: ProgramDescription<T>,
  sources: ConfigSources,
  complete: (values: OptionValues<T>) => C,
): Promise<Loaded<C>> {
  const parsed = parseArguments(program.options, sources.argv);
  if (parsed.action === 'help') return { action: 'print', text: helpText(program) };
  if (parsed.action === 'version') return { action: 'print', text: `${program.name} ${VERSION}\n` };
  const configPath = parsed.values.get('config');
  const file = configPath === undefined ? {} : await readConfigFile(program, configPath, sources.readFile);
  const values: Record<string, unknown> = {};
  for (const [key, option] of Object.entries<Option & { default?: unknown }>(program.options)) {
    const found = findValue(key, option, parsed.values, sources.env, file, configPath);
    values[key] = found === undefined ? option.default : found;
  }
  const completed = complete(values as OptionValues<T>);
  if (parsed.action === 'print-config') return { action: 'print', text: printConfig(program, completed) };
  return { action: 'run', values: completed };
}

function findValue(
  key: string,
  option: Option,
  flags: ReadonlyMap<string, string>,
  env: ConfigSources['env'],
  file: Record<string, unknown>,
  configPath: string | undefined,
): unknown {
  const inFile = file[key] ?? undefined;
  const flag = flags.get(key);
  if (flag !== undefined) return unwrap(flagName(key), fromText(option, flag));
  const variable = option.env?.find((name) => env[name]);
  if (variable !== undefined) return unwrap(variable, fromText(option, env[variable] ?? ''));
  return inFile === undefined ? undefined : unwrap(`${configPath}: ${key}`, fromFile(option, inFile));
}

function unwrap(field: string, converted: Converted): unknown {
  if ('problem' in converted) throw configInvalid(field, converted.problem);
  return converted.value;
}

/** The error of every wrong setting. `field` is how the reader wrote it: a flag, a variable, or a path in the file. */
export function configInvalid(field: string, problem: string, cause?: unknown): CodedError {
  return new CodedError('CONFIG_INVALID', `${field}: ${problem}`, { cause, fields: { field } });
}

async function readConfigFile<T extends OptionTable>(
  program: ProgramDescription<T>,
  path: string,
  readFile: ConfigSources['readFile'],
): Promise<Record<string, unknown>> {
  const { parse } = await import('./yaml.ts');
  let content: unknown;
  try {
    content = parse(readFile(path));
  } catch (cause) {
    throw configInvalid('--config', `cannot read ${path}: ${describeError(cause).split('\n')[0]}`, cause);
  }
  if (content === null || typeof content !== 'object' || Array.isArray(content)) {
    throw configInvalid('--config', `${path} must contain a YAML mapping with apiVersion and kind`);
  }
  const { apiVersion, kind, ...given } = content as Record<string, unknown>;
  const fields = ungrouped(given, program.options);
  if (apiVersion !== CONFIG_API_VERSION) throw configInvalid(`${path}: apiVersion`, `must be ${CONFIG_API_VERSION}`);
  if (kind !== program.kind) throw configInvalid(`${path}: kind`, `must be ${program.kind}`);
  const known = Object.entries<Option>(program.options)
    .filter(([, option]) => !option.flagOnly)
    .map(([key]) => key);
  for (const field of Object.keys(fields)) {
    if (known.includes(field)) continue;
    const instead = program.gone?.[field];
    if (instead !== undefined) throw configInvalid(`${path}: ${field}`, instead);
    const suggestion = nearest(field, known);
    throw configInvalid(`${path}: ${field}`, `unknown field${suggestion ? `, did you mean ${suggestion}?` : ''}`);
  }
  return fields;
}

/** Options may be written in groups: `startupGate: {requires: []}` is `startupGateRequires: []`. */
function ungrouped(given: Record<string, unknown>, options: OptionTable): Record<string, unknown> {
  const fields = Object.entries(given).flatMap(([key, value]): [string, unknown][] => {
    const isGroup = !(key in options) && Object.keys(options).some((option) => isInGroup(option, key));
    if (!isGroup || value === null || typeof value !== 'object' || Array.isArray(value)) return [[key, value]];
    return Object.entries(value).map(([field, inner]) => [`${key}${capitalized(field)}`, inner]);
  });
  return Object.fromEntries(fields);
}

function isInGroup(option: string, group: string): boolean {
  return option.startsWith(group) && /^[A-Z]/.test(option.slice(group.length));
}

function capitalized(word: string): string {
  return `${word.charAt(0).toUpperCase()}${word.slice(1)}`;
}

/** The effective configuration as a configuration file, in JSON, which is YAML as well. */
function printConfig<T extends OptionTable>(program: ProgramDescription<T>, values: OptionValues<T>): string {
  const fields = Object.entries<Option>(program.options)
    .filter(([key, option]) => !option.flagOnly && values[key] !== undefined)
    .map(([key, option]) => [key, option.secret ? '***' : values[key]]);
  const document = { apiVersion: CONFIG_API_VERSION, kind: program.kind, ...Object.fromEntries(fields) };
  return `${JSON.stringify(document, null, 2)}\n`;
}
