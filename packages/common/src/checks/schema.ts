import { durationMs } from '../duration-ms.ts';

/** Says in this language what a rule says in CEL. */
const HOLDS = Symbol('holds');
/** Marks a text that is a duration. */
const DURATION = Symbol('duration');

type Rule = { rule: string; message: string; [HOLDS]?: (value: never) => boolean };

/** A schema as CRDs have it. The same schema makes the CRD, and checks and reads what is written by it. */
export type Schema = {
  readonly description?: string;
  readonly type?: string;
  readonly format?: string;
  readonly default?: unknown;
  readonly enum?: readonly string[];
  readonly pattern?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly maxProperties?: number;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema;
  readonly items?: Schema;
  readonly 'x-kubernetes-list-type'?: string;
  readonly 'x-kubernetes-list-map-keys'?: readonly string[];
  readonly 'x-kubernetes-validations'?: readonly Rule[];
  readonly [DURATION]?: true;
};

export const text = (description: string, more: Schema = {}) => ({ description, type: 'string', ...more });

export const whole = (description: string, minimum: number, maximum: number, more: Schema = {}) => ({
  description,
  type: 'integer',
  format: 'int32',
  minimum,
  maximum,
  ...more,
});

export const yesOrNo = (description: string) => ({ description, type: 'boolean' });

/** A duration from `least` to `most`, by default a year; CEL reads it as Go does. It is read as milliseconds. */
export const duration = (
  name: string,
  description: string,
  more: Schema = {},
  { least = '10ms', most = '8760h' }: { least?: string; most?: string } = {},
) => ({
  [DURATION]: true as const,
  ...text(`${description} A duration, such as 500ms, 10s or 1m30s.`, {
    maxLength: 32,
    'x-kubernetes-validations': [
      validation<string>(
        `self.matches('^([0-9]+([.][0-9]+)?(ms|s|m|h))+$') && duration(self) >= duration('${least}') && duration(self) <= duration('${most}')`,
        `${name} must be a duration of ${least} to ${most}, such as 500ms, 10s or 1m30s`,
        (value) => durationMs(value) !== undefined,
      ),
    ],
    ...more,
  }),
});

/** A rule of CEL with the sentence that people read. `holds`: the same where no API server has checked it. */
export function validation<T = never>(rule: string, message: string, holds?: (value: T) => boolean): Rule {
  return { rule, message, ...(holds ? { [HOLDS]: holds } : {}) };
}

/** Texts as a list of CEL. */
export function celList(texts: readonly string[]): string {
  return `[${texts.map((each) => `'${each}'`).join(', ')}]`;
}

/**
 * Returns the path of the first field that the schema does not have, that is missing, or whose value the schema does not
 * permit; `undefined` if there is none.
 */
export function problemIn(schema: Schema, value: unknown, path: string): string | undefined {
  const inner = problemInside(schema, value, path);
  if (inner !== undefined) return inner;
  const { enum: choices, 'x-kubernetes-validations': rules = [] } = schema;
  const isBroken =
    choices?.includes(value as string) === false || rules.some((rule) => rule[HOLDS]?.(value as never) === false);
  return isBroken ? path : undefined;
}

function problemInside(schema: Schema, value: unknown, path: string): string | undefined {
  const { minLength = 0, maxLength = Number.POSITIVE_INFINITY, pattern } = schema;
  switch (schema.type) {
    case 'string': {
      const isText = typeof value === 'string' && isWithin([...value].length, minLength, maxLength);
      return isText && (pattern === undefined || compiled(pattern).test(value)) ? undefined : path;
    }
    case 'integer': {
      const isWhole = Number.isInteger(value) && isWithin(Number(value), schema.minimum, schema.maximum);
      return isWhole ? undefined : path;
    }
    case 'boolean':
      return typeof value === 'boolean' ? undefined : path;
    case 'array': {
      // How long a list of checks may be, acceptance says with numbers.
      if (!Array.isArray(value)) return path;
      const { items } = schema;
      return items && firstOf(value, (each, index) => problemIn(items, each, `${path}[${index}]`));
    }
    case 'object':
      return problemInFields(schema, value, path);
    default:
      return undefined;
  }
}

/** By pattern. Only schemas have patterns, and there are few. */
const expressions = new Map<string, RegExp>();

function compiled(pattern: string): RegExp {
  const expression = expressions.get(pattern) ?? new RegExp(pattern);
  expressions.set(pattern, expression);
  return expression;
}

function problemInFields(schema: Schema, value: unknown, path: string): string | undefined {
  if (!isObject(value)) return path;
  const { properties = {}, additionalProperties, required = [], maxProperties = Number.POSITIVE_INFINITY } = schema;
  const names = Object.keys(value);
  if (names.length > maxProperties) return path;
  const schemaOf = (name: string) => (Object.hasOwn(properties, name) ? properties[name] : additionalProperties);
  const unknown = names.find((name) => !schemaOf(name));
  if (unknown !== undefined) return `${path}.${unknown}`;
  const missing = required.find((name) => value[name] === undefined);
  if (missing !== undefined) return `${path}.${missing}`;
  return firstOf(Object.entries(value), ([name, each]) => {
    const field = schemaOf(name);
    return field && each !== undefined ? problemIn(field, each, `${path}.${name}`) : undefined;
  });
}

/** Returns an object in which there is no problem, with the defaults of its fields; a duration `x` as milliseconds, `xMs`. */
export function readBy({ properties = {} }: Schema, value: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const entries = Object.entries(properties).flatMap(([name, field]): [string, unknown][] => {
    const given = value[name] ?? field.default;
    if (given === undefined) return [];
    return field[DURATION] ? [[`${name}Ms`, durationMs(String(given))]] : [[name, given]];
  });
  return Object.fromEntries(entries);
}

function isWithin(value: number, least = Number.NEGATIVE_INFINITY, most = Number.POSITIVE_INFINITY): boolean {
  return value >= least && value <= most;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function firstOf<T>(values: readonly T[], find: (value: T, index: number) => string | undefined): string | undefined {
  for (const [index, value] of values.entries()) {
    const found = find(value, index);
    if (found !== undefined) return found;
  }
  return undefined;
}
