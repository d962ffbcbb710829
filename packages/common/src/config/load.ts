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

/** A value that the user set, and the field as the user wrote it: a flag, a variable, or a path in the file. */
type Setting = { field: string; value: unknown };

/** The field of an option as the user wrote it; the flag if the option was not set. */
export type FieldOf<T extends OptionTable> = (key: keyof T & string) => string;

/**
 * Reads the configuration of a program: flag before environment variable before `--config` file before default. What
 * the file says is checked also where it does not count; a variable is not, as other programs may need another value.
 * `complete` fills in defaults that depend on other values, and checks what concerns several options at once.
 * Throws CONFIG_INVALID with one line that names the field.
 */
export async function loadConfiguration<T extends OptionTable, C extends OptionValues<T>>(
  program: ProgramDescription<T>,
  sources: ConfigSources,
  complete: (values: OptionValues<T>, fieldOf: FieldOf<T>) => C,
): Promise<Loaded<C>> {
  const parsed = parseArguments(program.options, sources.argv);
  if (parsed.action === 'help') return { action: 'print', text: helpText(program) };
  if (parsed.action === 'version') return { action: 'print', text: `${program.name} ${VERSION}\n` };
  const configPath = parsed.values.get('config');
  if (configPath === '') throw configInvalid('--config', 'must be the path of a file');
  const settings = configPath === undefined ? new Map() : await readConfigFile(program, configPath, sources.readFile);
  const values: Record<string, unknown> = {};
  for (const [key, option] of Object.entries<Option & { default?: unknown }>(program.options)) {
    const setting = settingOf(key, option, parsed.values, sources.env);
    if (setting) settings.set(key, setting);
    values[key] = settings.has(key) ? settings.get(key)?.value : option.default;
  }
  const completed = complete(values as OptionValues<T>, (key) => settings.get(key)?.field ?? flagName(key));
  if (parsed.action === 'print-config') return { action: 'print', text: printConfig(program, completed) };
  return { action: 'run', values: completed };
}

function settingOf(
  key: string,
  option: Option,
  flags: ReadonlyMap<string, string>,
  env: ConfigSources['env'],
): Setting | undefined {
  const flag = flags.get(key);
  if (flag !== undefined) return checked(flagName(key), fromText(option, flag));
  const variable = option.env?.find((name) => env[name]);
  return variable === undefined ? undefined : checked(variable, fromText(option, env[variable] ?? ''));
}

function checked(field: string, converted: Converted): Setting {
  if ('problem' in converted) throw configInvalid(field, converted.problem);
  return { field, value: converted.value };
}

/** The error of every wrong setting. `field` is how the reader wrote it: a flag, a variable, or a path in the file. */
export function configInvalid(field: string, problem: string, cause?: unknown): CodedError {
  return new CodedError('CONFIG_INVALID', `${field}: ${problem}`, { cause, fields: { field } });
}

async function readConfigFile<T extends OptionTable>(
  program: ProgramDescription<T>,
  path: string,
  readFile: ConfigSources['readFile'],
): Promise<Map<string, Setting>> {
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
  if (apiVersion !== CONFIG_API_VERSION) throw configInvalid(`${path}: apiVersion`, `must be ${CONFIG_API_VERSION}`);
  if (kind !== program.kind) throw configInvalid(`${path}: kind`, `must be ${program.kind}`);
  const known = new Map(Object.entries<Option>(program.options).filter(([, option]) => !option.flagOnly));
  const settings = new Map<string, Setting>();
  const { options } = program;
  const isGroup = (key: string) => Object.keys(options).some((option) => isInGroup(option, key));
  for (const { key, path: fieldPath, group, value } of ungrouped(given, isGroup, (key) => key in options)) {
    const field = `${path}: ${fieldPath}`;
    const option = known.get(key);
    if (!option) throw configInvalid(field, program.gone?.[key] ?? unknownField(key, [...known.keys()], group));
    const other = settings.get(key);
    if (other) throw configInvalid(field, `is set twice, also as ${other.field}`);
    if (value !== null) settings.set(key, checked(field, fromFile(option, value)));
  }
  return settings;
}

function unknownField(key: string, known: readonly string[], group: string | undefined): string {
  const suggestion = nearest(key, known);
  return `unknown field${suggestion === undefined ? '' : `, did you mean ${inGroup(suggestion, group)}?`}`;
}

/** `key` is the name of the option, `path` where it stands in the file. */
type Field = { key: string; path: string; group?: string; value: unknown };

/**
 * Options may be written in groups: `startupGate: {requires: []}` is `startupGateRequires: []`, and `enabled` in a group is
 * the option of its name: `startupGate: {daemonSets: {enabled: true}}` is `startupGateDaemonSets: true`.
 */
export function ungrouped(
  given: object,
  isGroup: (key: string) => boolean,
  isOption: (key: string) => boolean,
  group?: { key: string; path: string },
): Field[] {
  return Object.entries(given).flatMap(([name, value]): Field[] => {
    const key = group ? joined(group.key, name) : name;
    const path = group ? `${group.path}.${name}` : name;
    const isMapping = value !== null && typeof value === 'object' && !Array.isArray(value);
    if (isMapping && isGroup(key)) return ungrouped(value, isGroup, isOption, { key, path });
    const isSwitch = group !== undefined && name === 'enabled' && isOption(group.key);
    return [{ key: isSwitch ? group.key : key, path, ...(group ? { group: group.key } : {}), value }];
  });
}

/** The path of an option for one who writes it in this group. */
function inGroup(option: string, group: string | undefined): string {
  if (group === undefined || !isInGroup(option, group)) return option;
  const name = option.slice(group.length);
  return `${group}.${name.charAt(0).toLowerCase()}${name.slice(1)}`;
}

function isInGroup(option: string, group: string): boolean {
  return option.startsWith(group) && /^[A-Z]/.test(option.slice(group.length));
}

/** The option that is written as `name` in a group. */
function joined(group: string, name: string): string {
  return `${group}${name.charAt(0).toUpperCase()}${name.slice(1)}`;
}

/** The effective configuration as a configuration file, in JSON, which is YAML as well. */
function printConfig<T extends OptionTable>(program: ProgramDescription<T>, values: OptionValues<T>): string {
  const fields = Object.entries<Option>(program.options)
    .filter(([key, option]) => !option.flagOnly && values[key] !== undefined)
    .map(([key, option]) => [key, option.secret && !isEmptyList(values[key]) ? '***' : values[key]]);
  const document = { apiVersion: CONFIG_API_VERSION, kind: program.kind, ...Object.fromEntries(fields) };
  return `${JSON.stringify(document, null, 2)}\n`;
}

function isEmptyList(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0;
}
