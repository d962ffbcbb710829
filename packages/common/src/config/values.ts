import type { Value } from './option.ts';

export type Converted = { value: unknown } | { problem: string };

/** Turns the text of a flag or an environment variable into the option's type. */
export function fromText(option: Value, text: string): Converted {
  switch (option.type) {
    case 'string':
      return checked(option, text);
    case 'boolean':
      if (/^(true|t|1)$/i.test(text)) return checked(option, true);
      if (/^(false|f|0)$/i.test(text)) return checked(option, false);
      return { problem: `must be true or false, got ${quote(text)}` };
    case 'number':
      if (!/^-?\d+(\.\d+)?$/.test(text)) return { problem: `must be a number, got ${quote(text)}` };
      return checked(option, Number(text));
    case 'list':
      return checked(option, splitList(text));
  }
}

/** Takes a value of a configuration file, which has a type of its own. */
export function fromFile(option: Value, value: unknown): Converted {
  if (option.type === 'list') {
    if (typeof value === 'string') return checked(option, splitList(value));
    if (Array.isArray(value) && value.every((item) => typeof item === 'string')) return checked(option, value);
    return { problem: 'must be a list of strings' };
  }
  const type = typeof value;
  if (type !== option.type) return { problem: `must be a ${option.type}, got ${JSON.stringify(value)}` };
  return checked(option, value);
}

function checked(option: Value, value: unknown): Converted {
  const problem = problemOf(option, value);
  return problem === undefined ? { value } : { problem };
}

function problemOf(option: Value, value: unknown): string | undefined {
  if (option.type === 'string' && option.choices && !option.choices.includes(value as string)) {
    return `must be one of ${option.choices.join(', ')}, got ${quote(String(value))}`;
  }
  if (option.type === 'number') {
    const number = value as number;
    const fits = Number.isFinite(number) && number >= option.min && number <= option.max;
    if (!fits || (option.integer !== false && !Number.isInteger(number))) {
      const kind = option.integer === false ? 'a number' : 'a whole number';
      return `must be ${kind} from ${option.min} to ${option.max}, got ${number}`;
    }
  }
  // The type of `check` follows from the type of the option, which the switch above has already honoured.
  return (option.check as ((value: unknown) => string | undefined) | undefined)?.(value);
}

function splitList(text: string): string[] {
  return text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');
}

function quote(text: string): string {
  return `"${text.length > 60 ? `${text.slice(0, 60)}…` : text}"`;
}
