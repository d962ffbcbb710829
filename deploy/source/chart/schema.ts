import { closed } from './kubernetes.ts';
import type { ConfigOption, Schema, ValueNode } from './value.ts';

const LABEL_KEY = '^[A-Za-z0-9./_-]+$';
const DNS_LABEL = '^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$';

/**
 * What policies and names of objects are made of is held to its alphabet before it gets there: nothing that ends a
 * string of CEL. All else that is wrong with a value, the program says when it starts.
 */
const PATTERNS: Readonly<Record<string, string>> = {
  namespace: DNS_LABEL,
  poolNamespace: DNS_LABEL,
  name: DNS_LABEL,
  poolLabels: LABEL_KEY,
  poolsRemovedLabels: LABEL_KEY,
  forbiddenLabelDomains: LABEL_KEY,
  label: LABEL_KEY,
  taint: LABEL_KEY,
};

/** Lists that mean nothing to a program when they are empty; leaving them out gives the default. */
const NEVER_EMPTY = ['poolLabels'];

/** The values.schema.json of the chart: every object is closed, but for those that Kubernetes itself looks into. */
export function valuesSchema(root: ValueNode): string {
  const schema = { $schema: 'http://json-schema.org/draft-07/schema#', ...schemaOf(root) };
  return `${JSON.stringify(schema, undefined, 2)}\n`;
}

function schemaOf(node: ValueNode): Schema {
  const description = node.help;
  if (node.kind === 'leaf') return { description, ...node.schema };
  const properties =
    node.kind === 'section' ? mapValues(node.fields, schemaOf) : mapEntries(node.options, optionSchema);
  const entries = node.kind === 'section' ? node.entries : undefined;
  return {
    description,
    ...closed(properties),
    ...(entries ? { patternProperties: { [entries.pattern]: entries.schema } } : {}),
  };
}

export function optionSchema(name: string, value: ConfigOption): Schema {
  const description = value.help;
  const pattern = PATTERNS[name] === undefined ? {} : { pattern: PATTERNS[name] };
  switch (value.type) {
    case 'string':
      return { description, type: 'string', ...(value.choices ? { enum: value.choices } : {}), ...pattern };
    case 'boolean':
      return { description, type: 'boolean' };
    case 'number': {
      const type = value.integer === false ? 'number' : 'integer';
      return { description, type, minimum: value.min, maximum: value.max };
    }
    case 'list': {
      const some = NEVER_EMPTY.includes(name) ? { minItems: 1 } : {};
      return { description, type: 'array', ...some, items: { type: 'string', ...pattern } };
    }
  }
}

function mapValues<T>(record: Readonly<Record<string, T>>, to: (value: T) => Schema): Record<string, Schema> {
  return mapEntries(record, (_, value) => to(value));
}

function mapEntries<T>(
  record: Readonly<Record<string, T>>,
  to: (key: string, value: T) => Schema,
): Record<string, Schema> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, to(key, value)]));
}
