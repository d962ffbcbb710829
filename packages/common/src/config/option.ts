/** What a value may be, wherever it comes from. */
type ValueBase<T> = {
  /** One sentence for `--help` and the reference table. */
  help: string;
  /** How the default reads where it is computed, such as "own namespace". */
  defaultText?: string;
  /** Says what is wrong with a value, or nothing. */
  check?: (value: T) => string | undefined;
};

type StringValue = ValueBase<string> & { type: 'string'; choices?: readonly string[] };
type BooleanValue = ValueBase<boolean> & { type: 'boolean' };
type NumberValue = ValueBase<number> & { type: 'number'; min: number; max: number; integer?: boolean };
type ListValue = ValueBase<string[]> & { type: 'list' };
export type Value = StringValue | BooleanValue | NumberValue | ListValue;

/** An option. Each takes its value from the same sources: flag, environment variable, file, default. */
type FlagBase = {
  /** Environment variables, the first that is set and not empty wins. */
  env?: readonly string[];
  /** One-letter flag. */
  short?: string;
  /** A further long name of the flag, kept for those who come from a predecessor. */
  alias?: string;
  /** Whether `--print-config` hides it. */
  secret?: boolean;
  /** Only on the command line: it makes no sense in a file. */
  flagOnly?: boolean;
};

export type Option = Value & FlagBase;

/**
 * Options by the camelCase name that they have in a configuration file. The flag is the same in kebab-case:
 * `probePeriodMs` is `--probe-period-ms`. `default` is the value when the option is not set; without `default`, it has
 * none.
 */
export type OptionTable = Readonly<Record<string, Option & { default?: unknown }>>;

type RawValue<O> = O extends { choices: readonly (infer Choice)[] }
  ? Choice
  : O extends { type: 'string' }
    ? string
    : O extends { type: 'boolean' }
      ? boolean
      : O extends { type: 'number' }
        ? number
        : string[];

/** The values that a table gives: an option with a default is always there. */
export type OptionValues<T extends OptionTable> = {
  -readonly [K in keyof T]: T[K] extends { default: NonNullable<unknown> }
    ? RawValue<T[K]>
    : RawValue<T[K]> | undefined;
};

export function flagName(key: string): string {
  return `--${key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

/** The entry of the suggestion list that is nearest to `name`, when it is near enough to have been meant. */
export function nearest(name: string, candidates: readonly string[]): string | undefined {
  let best: { candidate: string; distance: number } | undefined;
  for (const candidate of candidates) {
    const distance = editDistance(name, candidate);
    if (!best || distance < best.distance) best = { candidate, distance };
  }
  return best && best.distance <= Math.max(2, name.length / 4) ? best.candidate : undefined;
}

function editDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const substitution = (previous[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      row.push(Math.min(substitution, (previous[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1));
    }
    previous = row;
  }
  return previous[b.length] ?? 0;
}
