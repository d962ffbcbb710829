import type { Schema } from '@rollcall/common/checks/schema.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { KubeObject } from '../../control-plane/api-client.ts';
import type { PoolCluster } from '../pools/pool-cluster.ts';
import { makeOwnObjects, OWN_OBJECTS } from './fence-objects.ts';
import { startFencedCluster } from './fence-victim.ts';

// With the token of the coordinator, as much as there is room for in the status of each of rollcall's kinds.

/** Of an object with all that its status may hold: a tenth of what the API server could store. */
const BYTES_MAX = 200_000;
/** What the largest field could take of an object, if it had no limit. */
const TEXT = 300_000;
const ITEMS = 5000;

const OBJECTS = OWN_OBJECTS.slice(3).map(({ path }) => path);

type Crd = KubeObject & { spec: { versions: { schema: { openAPIV3Schema: { properties: { status: Schema } } } }[] } };

let cluster: PoolCluster;
beforeAll(async () => {
  cluster = await startFencedCluster();
  await makeOwnObjects(cluster);
});
afterAll(() => cluster?.stop());

/** The schema of the status, as the API server has it. */
async function schemaOf(path: string): Promise<Schema> {
  const [plural, group] = [path.split('/').at(-2), path.split('/')[2]];
  const crd = await cluster.api.get<Crd>(`/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${plural}.${group}`);
  return crd.spec.versions[0]?.schema.openAPIV3Schema.properties.status ?? {};
}

/** The largest value that a schema admits, or one without end. `at`: the place in a list, whose items differ. */
function largest(schema: Schema, at = 0): unknown {
  const { type, properties = {}, items = {}, maxLength = TEXT, maxItems = ITEMS } = schema;
  if (schema.enum) return schema.enum[at % schema.enum.length];
  if (schema.format === 'date-time') return `2026-01-01T00:00:00.${'0'.repeat(maxLength - 21)}Z`;
  if (type === 'string' && schema.pattern) return 'A'.repeat(maxLength);
  // Lengths are counted in characters, of which one may have four bytes.
  if (type === 'string') return `${'\u{1F600}'.repeat(maxLength - `${at}`.length)}${at}`;
  if (type === 'array') return Array.from({ length: maxItems }, (_, place) => largest(items, place));
  if (type !== 'object') return 2 ** 31 - 1;
  return Object.fromEntries(Object.entries(properties).map(([name, each]) => [name, largest(each, at)]));
}

function write(path: string, status: unknown) {
  const type = 'application/merge-patch+json';
  return cluster.coordinator.exchange(
    'PATCH',
    `${path}/status?fieldManager=rollcall`,
    JSON.stringify({ status }),
    type,
  );
}

async function bytesOf(path: string): Promise<number> {
  return Buffer.byteLength(JSON.stringify(await cluster.api.get(path)));
}

describe.each(OBJECTS)('of %s the coordinator', (path) => {
  test('may write the largest status that the CRD admits, which is no large object', async () => {
    expect(await write(path, largest(await schemaOf(path)))).toMatchObject({ status: 200 });
    const bytes = await bytesOf(path);
    expect(bytes).toBeGreaterThan(20_000);
    expect(bytes).toBeLessThan(BYTES_MAX);
  });

  test('may write no field that is longer', async () => {
    const schema = await schemaOf(path);
    const conditions = largest(schema.properties?.['conditions'] ?? {}) as Record<string, string>[];
    const [first = {}] = conditions;
    const text = Object.entries(schema.properties ?? {}).filter(([, { type }]) => type === 'string');
    const of = (change: object) => ({ conditions: [{ ...first, ...change }] });
    const longer: Record<string, object> = {
      ...Object.fromEntries(Object.entries(first).map(([name, value]) => [name, of({ [name]: `${value}0` })])),
      ...Object.fromEntries(text.map(([name, each]) => [name, { [name]: `${largest(each)}0` }])),
      'a condition': { conditions: [...conditions, { ...first, type: 'Odd' }] },
      'a fraction': of({ lastTransitionTime: `2026-01-01T00:00:00.${'0'.repeat(TEXT)}Z` }),
      'an unknown field, which is dropped': { unknown: 'x'.repeat(TEXT) },
    };
    const before = await cluster.api.get(path);
    for (const [what, status] of Object.entries(longer)) {
      const answer = await write(path, status);
      expect([what, answer.status]).toEqual([what, 'unknown' in status ? 200 : 422]);
      expect(await cluster.api.get(path)).toEqual(before);
    }
  });
});
