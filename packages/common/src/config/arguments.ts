import { CodedError } from '../coded-error.ts';
import { flagName, nearest, type Option, type OptionTable } from './option.ts';

/** What the command line says, as text; conversion and checks come later and are the same for every source. */
export type ParsedArguments = {
  values: Map<string, string>;
  action: 'run' | 'help' | 'version' | 'print-config';
};

const ACTIONS = ['help', 'version', 'print-config'] as const;

/**
 * Reads `--x V`, `--x=V`, `-x V`, and for booleans `--x`, `--x=true|false` and `--no-x`; a single dash before a long
 * name is accepted, as Go's flag package does. The last one wins. `node:util` parseArgs refuses half of these forms.
 */
export function parseArguments(table: OptionTable, argv: readonly string[]): ParsedArguments {
  const flags = flagsOf(table);
  const result: ParsedArguments = { values: new Map(), action: 'run' };
  for (let index = 0; index < argv.length; index += 1) {
    const argument = argv[index] ?? '';
    const match = /^--?(?<name>[A-Za-z][^=]*)(?:=(?<value>.*))?$/s.exec(argument);
    if (!match?.groups) throw invalid(`unexpected argument "${argument}": every setting is a flag, see --help`);
    const name = match.groups['name'] ?? '';
    const inline = match.groups['value'];
    const asked = name === 'h' ? 'help' : name.replace(/^no-/, '');
    const action = ACTIONS.find((candidate) => candidate === asked);
    if (action) {
      if (isAsked(name, inline)) result.action = action;
      else if (result.action === action) result.action = 'run';
      continue;
    }
    const negated = name.startsWith('no-') ? flags.get(name.slice(3)) : undefined;
    const key = flags.get(name) ?? (negated && table[negated]?.type === 'boolean' ? negated : undefined);
    if (key === undefined) throw unknownFlag(argument, name, [...flags.keys(), ...ACTIONS].filter(isLong));
    if (!flags.has(name)) {
      if (inline !== undefined) throw invalid(`--${name}: takes no value`);
      result.values.set(key, 'false');
    } else if (inline !== undefined) {
      result.values.set(key, inline);
    } else if (table[key]?.type === 'boolean') {
      result.values.set(key, 'true');
    } else {
      index += 1;
      const next = argv[index];
      if (next === undefined) throw invalid(`${flagName(key)}: needs a value`);
      result.values.set(key, next);
    }
  }
  return result;
}

/** Of `--x`, `--x=true|false` and `--no-x`. */
function isAsked(name: string, inline: string | undefined): boolean {
  const isNegated = name.startsWith('no-');
  if (inline === undefined) return !isNegated;
  if (isNegated) throw invalid(`--${name}: takes no value`);
  if (inline !== 'true' && inline !== 'false') throw invalid(`--${name}: must be true or false`);
  return inline === 'true';
}

function flagsOf(table: OptionTable): Map<string, string> {
  const flags = new Map<string, string>();
  for (const [key, option] of Object.entries<Option>(table)) {
    flags.set(flagName(key).slice(2), key);
    if (option.short) flags.set(option.short, key);
    if (option.alias) flags.set(option.alias, key);
  }
  return flags;
}

/** One letter is near to everything. */
function isLong(name: string): boolean {
  return name.length > 1;
}

function unknownFlag(argument: string, name: string, known: string[]): CodedError {
  const suggestion = nearest(name, known);
  return invalid(
    `unknown flag ${argument.split('=')[0]}${suggestion ? `, did you mean --${suggestion}?` : ', see --help'}`,
  );
}

function invalid(message: string): CodedError {
  return new CodedError('CONFIG_INVALID', message);
}
