import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { KubeObject } from '../../control-plane/api-client.ts';
import { applyCrd, type PoolCluster, poolLabelSet, poolsPath, startPoolCluster } from './pool-cluster.ts';

let cluster: PoolCluster;

beforeAll(async () => {
  cluster = await startPoolCluster();
  await applyCrd(cluster);
});
afterAll(() => cluster?.stop());

let created = 0;

/** Creates a NodePoolLabelSet, and returns what the API server has against it, if anything. */
async function problemOf(labels: object, more: object = {}): Promise<string | undefined> {
  const object = poolLabelSet(`set-${++created}`, labels, more);
  return cluster.api.post(poolsPath(), object).then(
    () => undefined,
    (error: Error) => error.message,
  );
}

describe('an object that was made for the predecessor', () => {
  test('is valid as it is', async () => {
    const labels = {
      'node.banzaicloud.io/NetworkPerfCategory': 'low',
      'node.banzaicloud.io/cpu': '1',
      'node.banzaicloud.io/memory': '3.75',
      'node.banzaicloud.io/ondemand': 'false',
      'nodepool.banzaicloud.io/name': 'pool1',
    };
    const object = poolLabelSet('pool1', labels);
    const { spec } = await cluster.api.post(poolsPath(), {
      ...object,
      metadata: { ...object.metadata, clusterName: '', selfLink: '/apis/none' },
    });
    expect(spec).toEqual({ labels });
  });

  test.each([{}, { empty: '' }, { ['k'.repeat(63)]: 'v'.repeat(63) }, { [`${'a.'.repeat(126)}b/c`]: '' }])(
    'may have what is unusual: %j',
    async (labels) => expect(await problemOf(labels)).toBeUndefined(),
  );

  test('may have two thousand labels', async () => {
    const many = Object.fromEntries(Array.from({ length: 2000 }, (_, index) => [`key-${index}`, `value-${index}`]));
    expect(await problemOf(many)).toBeUndefined();
  });

  test('needs labels, and values that are strings, as before', async () => {
    expect(await cluster.api.post(poolsPath(), { ...poolLabelSet('none', {}), spec: {} }).catch(String)).toMatch(
      /spec\.labels: Required value/,
    );
    expect(await problemOf({ cpu: 1 })).toMatch(/must be of type string/);
  });
});

describe('PL-4: a key', () => {
  test.each(['key', 'example.com/key', 'node.example.com/key', 'node-role.kubernetes.io/master', 'Key_1.x-y'])(
    'is taken where a Node could have it: %s',
    async (key) => expect(await problemOf({ [key]: 'value' })).toBeUndefined(),
  );

  test.each(['key*', '', '/key', 'example.com/', 'a/b/c', 'Example.com/key', '-key', 'k'.repeat(64), 'k e y', 'ключ'])(
    'is refused by name where no Node could: "%s"',
    async (key) =>
      // Before 1.35 the API server puts `"object": ` in between.
      expect((await problemOf({ good: '1', [key]: 'value' }))?.replace('"object": ', '')).toContain(
        `spec.labels: Invalid value: "${key}" is not a valid label key: it must be NAME or DOMAIN/NAME`,
      ),
  );
});

describe('PL-5: a value', () => {
  test.each(['value', '', '3.75', 'a_b-c.D', 'v'.repeat(63)])('is taken: "%s"', async (value) =>
    expect(await problemOf({ key: value })).toBeUndefined(),
  );

  test.each(['value.*-/', '-', 'a b', '.x', 'v'.repeat(64), 'ü'])('is refused: "%s"', async (value) =>
    expect(await problemOf({ key: value })).toMatch(/spec\.labels\.key: (Invalid value|Too long)/),
  );

  test('is refused for a pool, which is the value of a label', async () => {
    expect(await problemOf({}, { pool: 'Pool_1' })).toBeUndefined();
    expect(await problemOf({}, { pool: 'pool one' })).toMatch(/spec\.pool: Invalid value/);
  });
});

describe('the status', () => {
  const moment = '2026-01-02T03:04:05Z';
  const condition = (type: string, status: string, message: string) => {
    return { type, status, reason: 'Tested', message, lastTransitionTime: moment, observedGeneration: 1 };
  };
  const status = {
    observedGeneration: 1,
    nodesMatched: 12,
    nodesLabelled: 11,
    nodesInConflict: 1,
    refusedKeys: [
      {
        key: 'x.k8s.io/y',
        reason: 'is in the reserved domain k8s.io (a rule can set it, with its prefix in rules.allowedPrefixes)',
      },
    ],
    conditions: [
      condition('Ready', 'True', 'Fine'),
      condition('NodesLabelled', 'False', '11 of 12 nodes have the labels'),
    ],
  };

  test('is written by the coordinator, which may write nothing else of the object', async () => {
    await cluster.api.post(poolsPath(), poolLabelSet('shown', { tier: 'gold' }, { pool: 'Shown_Pool' }));
    const path = `${poolsPath()}/shown`;
    const written = await cluster.coordinator.patch<KubeObject>(`${path}/status`, { status });
    expect(written['status']).toEqual(status);
    const change = { spec: { labels: { tier: 'silver' } } };
    await expect(cluster.coordinator.patch(path, change)).rejects.toThrow('403');
    const after = await cluster.coordinator.patch<KubeObject>(`${path}/status`, change);
    expect(after['spec']).toMatchObject({ labels: { tier: 'gold' } });
  });

  test('holds at most twenty refused keys', async () => {
    const refusedKeys = Array.from({ length: 21 }, (_, index) => ({ key: `k${index}`, reason: 'is one too many' }));
    const path = `${poolsPath()}/shown/status`;
    await expect(cluster.coordinator.patch(path, { status: { refusedKeys } })).rejects.toThrow(/at most 20 items/);
  });

  test('is in the list that kubectl prints', async () => {
    const args = ['get', 'npls', '-n', 'rollcall', 'shown'];
    const [header, row] = (await cluster.controlPlane.kubectl(args))
      .split('\n')
      .map((line) => line.trim().split(/\s+/));
    expect(header).toEqual(['NAME', 'POOL', 'NODES', 'LABELLED', 'IN-FORCE', 'NODES-LABELLED', 'AGE']);
    expect(row?.slice(0, 6)).toEqual(['shown', 'Shown_Pool', '12', '11', 'True', 'False']);
    const wide = await cluster.controlPlane.kubectl([...args, '-o', 'wide']);
    expect(wide).toContain('11 of 12 nodes have the labels');
  });

  test('is in what kubectl describes', async () => {
    const described = await cluster.controlPlane.kubectl(['describe', 'npls', '-n', 'rollcall', 'shown']);
    expect(described).toContain(
      'is in the reserved domain k8s.io (a rule can set it, with its prefix in rules.allowedPrefixes)',
    );
    expect(described).toContain('Nodes Matched:');
  });
});

describe('kubectl explain', () => {
  test('tells what the fields of the spec are for', async () => {
    const text = await cluster.controlPlane.kubectl(['explain', 'nodepoollabelset.spec']);
    expect(text).toMatch(/labels\s+<map\[string\]string> -required-\s+Labels for every node of the pool/);
    expect(text).toMatch(/pool\s+<string>\s+The pool, as the label/);
  });

  test('has a description for every field', async () => {
    const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/nodepoollabelsets.labels.banzaicloud.io';
    const { spec } = await cluster.api.get<
      KubeObject & { spec: { versions: { schema: { openAPIV3Schema: Schema } }[] } }
    >(path);
    const schema = spec.versions[0]?.schema.openAPIV3Schema;
    expect(schema && without(schema, 'root')).toEqual([]);
  });
});

type Schema = {
  description?: string;
  properties?: Record<string, Schema>;
  items?: Schema;
  additionalProperties?: Schema;
};

/** Fields without a description; the objects in lists, and what API servers describe themselves, need none. */
function without({ description, properties = {}, items, additionalProperties }: Schema, name: string): string[] {
  const below = Object.entries(properties).flatMap(([field, schema]) => without(schema, `${name}.${field}`));
  const inside = items ? without({ ...items, description: 'in a list' }, `${name}[]`) : [];
  const values = additionalProperties ? without(additionalProperties, `${name}{}`) : [];
  const here = description || name === 'root.metadata' ? [] : [name];
  return [...here, ...below, ...inside, ...values];
}
