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
      spec: exampleOf(spec) as Record<string, unknown>,
    }).unknownField,
  ).toBeUndefined();
});

type Schema = {
  type: string;
  enum?: string[];
  properties?: Record<string, Schema>;
  items?: Schema;
};

/** A value that has every field of a schema. */
function exampleOf({ type, enum: [first] = [], properties = {}, items }: Schema): unknown {
  if (type === 'array') return items ? [exampleOf(items)] : [];
  if (type === 'object')
    return Object.fromEntries(Object.entries(properties).map(([key, each]) => [key, exampleOf(each)]));
  return first ?? (type === 'string' ? 'a' : 1);
}
