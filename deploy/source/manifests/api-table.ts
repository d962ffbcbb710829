import { type GeneratedBlock, markdownTable } from '../blocks.ts';
import { CRDS, pluralOf } from './files.ts';

type Schema = {
  description?: string;
  type?: string;
  enum?: readonly string[];
  default?: unknown;
  required?: readonly string[];
  properties?: Readonly<Record<string, Schema>>;
  items?: Schema;
};

type Definition = {
  names: { kind: string };
  versions: readonly [{ schema: { openAPIV3Schema: Schema } }];
};

/** Fields with fields of their own that every user of Kubernetes knows, or that have the same fields as another one. */
const NOT_OPENED = /(^|\.)(selector|nodeSelector|anyOf\[\]|conditions\[\])$/;

/** The last but one part of a field in code font, and what follows. */
const NEIGHBOUR = /\.([^.]+)(\.[^.]+)$/;

/** For each kind a table of its fields, without the metadata. */
export function apiBlocks(): GeneratedBlock[] {
  const kinds = new Map<string, string>();
  return CRDS.map((crd) => {
    const spec = crd.object['spec'] as Definition;
    const { properties = {} } = spec.versions[0].schema.openAPIV3Schema;
    const rows = ['spec', 'status'].flatMap((name) => rowsOf(name, properties[name] ?? {}, name === 'spec'));
    const table = markdownTable(['field', 'type', 'default', 'meaning'], merged(rows));
    const same = kinds.get(table);
    kinds.set(table, same ?? spec.names.kind);
    return {
      file: 'packages/docs/reference/api.md',
      name: pluralOf(crd),
      content: same === undefined ? table : `The fields of ${same}.`,
    };
  });
}

/** One row for fields of neighbours, such as the kinds of a check, that differ in nothing else. */
function merged(rows: readonly string[][]): string[][] {
  const alike = Map.groupBy(rows, ([field = '', ...rest]) => [field.replace(NEIGHBOUR, '.*$2'), ...rest].join('|'));
  return [...alike.values()].map(([first = [], ...others]) => {
    const [field = '', ...rest] = first;
    const names = others.map(([other = '']) => `\`${NEIGHBOUR.exec(other)?.[1]}\``);
    return [names.length > 0 ? `${field}, also of ${names.join(', ')}` : field, ...rest];
  });
}

function rowsOf(path: string, schema: Schema, isRequired: boolean): string[][] {
  const own = [`\`${path}\``, typeOf(schema), defaultOf(schema, isRequired), meaningOf(schema)];
  if (NOT_OPENED.test(path)) return [own];
  const items = schema.items?.properties === undefined ? [] : rowsBelow(`${path}[]`, schema.items);
  return [own, ...rowsBelow(path, schema), ...items];
}

function rowsBelow(path: string, { properties = {}, required = [] }: Schema): string[][] {
  if (NOT_OPENED.test(path)) return [];
  return Object.entries(properties).flatMap(([name, each]) => rowsOf(`${path}.${name}`, each, required.includes(name)));
}

function typeOf({ type = 'object', items }: Schema): string {
  return type === 'array' ? `list of ${items?.type ?? 'object'}` : type;
}

function defaultOf(schema: Schema, isRequired: boolean): string {
  if (isRequired) return 'required';
  return schema.default === undefined ? '' : `\`${JSON.stringify(schema.default)}\``;
}

function meaningOf({ description = '', enum: choices }: Schema): string {
  const text = description.replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  return choices === undefined ? text : `${text} One of ${choices.join(', ')}.`;
}
