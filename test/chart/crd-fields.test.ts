import { readFile } from 'node:fs/promises';
import { observeNodeService } from '@rollcall/coordinator/state/services/node-service.ts';
import { expect, test } from 'vitest';
import { parse } from 'yaml';

test('the coordinator knows every field of the CRD of NodeServices', async () => {
  const file = await readFile(new URL('../../deploy/crds/nodeservices.yaml', import.meta.url), 'utf8');
  const { spec } = parse(file).spec.versions[0].schema.openAPIV3Schema.properties;
  expect(
    observeNodeService({
      metadata: { name: 'a', uid: 'u', resourceVersion: '1' },
      spec: { ...(exampleOf(spec) as object), checks: checksOf(spec.properties.checks) },
    }).unknownField,
  ).toBeUndefined();
});

type Schema = {
  type: string;
  description?: string;
  enum?: string[];
  properties?: Record<string, Schema>;
  items?: Schema;
};

/** A check of each kind, with every field. */
function checksOf({ items: { properties = {} } = { type: 'object' } }: Schema): object[] {
  const { anyOf, ...fields } = properties;
  const kinds = Object.entries(fields).filter(([, { type }]) => type === 'object');
  const common = Object.fromEntries(Object.entries(fields).filter(([, { type }]) => type !== 'object'));
  return [
    ...kinds.map(
      ([kind, schema]) => exampleOf({ type: 'object', properties: { ...common, [kind]: schema } }) as object,
    ),
    ...(anyOf ? [{ name: 'a', anyOf: checksOf(anyOf) }] : []),
  ];
}

/** A value that has every field of a schema. */
function exampleOf({ type, description = '', enum: [first] = [], properties = {}, items }: Schema): unknown {
  if (description.includes('A duration, such as')) return '1s';
  if (type === 'array') return items ? [exampleOf(items)] : [];
  if (type === 'object')
    return Object.fromEntries(Object.entries(properties).map(([key, each]) => [key, exampleOf(each)]));
  return first ?? (type === 'string' ? 'a' : 1);
}
