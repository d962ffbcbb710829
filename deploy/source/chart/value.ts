import type { Option } from '@rollcall/common/config/option.ts';

/** A JSON schema, as far as this folder looks into it. */
export type Schema = { type?: string | readonly string[]; description?: string; [keyword: string]: unknown };

/** One value of the chart: what it means, what it may be, and its default. */
export type Leaf = {
  kind: 'leaf';
  help: string;
  schema: Schema;
  default: unknown;
  /** Not in values.yaml and the table: it is there for charts that have this one as a dependency. */
  hidden?: true;
};

/** Values that belong together. */
export type Section = {
  kind: 'section';
  help: string;
  fields: Readonly<Record<string, ValueNode>>;
  /** Values under any other key. */
  entries?: Entries;
};

/** Values under keys that the user chooses. */
export type Entries = {
  help: string;
  /** Regular expression for the keys. */
  pattern: string;
  schema: Schema;
};

/** Options of a program. Empty by default, so that the program's own defaults apply. */
export type Configuration = { kind: 'configuration'; help: string; options: Readonly<Record<string, ConfigOption>> };

export type ConfigOption = Option & { default?: unknown };
export type ValueNode = Leaf | Section | Configuration;

export function section(help: string, fields: Section['fields'], entries?: Entries): Section {
  return { kind: 'section', help, fields, ...(entries ? { entries } : {}) };
}

export function configuration(help: string, options: Configuration['options']): Configuration {
  return { kind: 'configuration', help, options };
}

export function leaf(help: string, schema: Schema, value: unknown): Leaf {
  return { kind: 'leaf', help, schema, default: value };
}

export function text(help: string, value: string, more: Schema = {}): Leaf {
  return leaf(help, { type: 'string', ...more }, value);
}

export function flag(help: string, value: boolean): Leaf {
  return leaf(help, { type: 'boolean' }, value);
}

/** A whole number from `minimum` to `maximum`. */
export function count(help: string, value: number, minimum: number, maximum: number): Leaf {
  return leaf(help, { type: 'integer', minimum, maximum }, value);
}
