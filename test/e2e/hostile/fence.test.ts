import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { MANAGED, POOL, type PoolCluster } from '../pools/pool-cluster.ts';
import {
  ACCELERATOR,
  type Attacker,
  type Entry,
  type Field,
  FOREIGN_LABELS,
  foreignOn,
  HOLD,
  KARPENTER,
  KEYS,
  NFD,
  ROLE,
  startFencedCluster,
  victim,
} from './fence-victim.ts';

// Each attack is some requests with the coordinator's token. What belongs to other clients must be as it was.

type Attack = (act: Attacker) => Promise<void>;

let cluster: PoolCluster;
beforeAll(async () => {
  cluster = await startFencedCluster();
});
afterAll(() => cluster?.stop());

const ours = (fieldsV1: Field, operation: string, manager = 'rollcall'): Entry => ({
  manager,
  operation,
  apiVersion: 'v1',
  fieldsType: 'FieldsV1',
  fieldsV1,
});
const labelField = (...keys: string[]): Field => ({
  'f:metadata': { 'f:labels': Object.fromEntries(keys.map((key) => [`f:${key}`, {}])) },
});
const annotationField = (...keys: string[]): Field => ({
  'f:metadata': { 'f:annotations': Object.fromEntries(keys.map((key) => [`f:${key}`, {}])) },
});
const withoutLabel = (entries: Entry[], key: string): Entry[] => {
  for (const { manager, fieldsV1 } of entries) {
    if (manager === 'rollcall') continue;
    const { 'f:metadata': metadata } = fieldsV1 as { 'f:metadata'?: { 'f:labels'?: Field } };
    delete metadata?.['f:labels']?.[`f:${key}`];
  }
  return entries;
};
const remove = (...keys: string[]) => ({ labels: Object.fromEntries(keys.map((key) => [key, null])) });
const listing = (...ids: string[]) => ({
  [KEYS]: JSON.stringify(Object.fromEntries(ids.toSorted().map((id) => [id, 'rule']))),
});

const ATTACKS: Readonly<Record<string, Attack>> = {
  'forge an entry of rollcall, operation Update, and remove what it names': async (act) => {
    await act.forge((entries) => [...entries, ours(labelField('person'), 'Update')]);
    await act.forge((entries) => withoutLabel(entries, 'person'));
    await act.patch({ metadata: remove('person') });
  },
  'forge an entry of rollcall, operation Apply, in which others have no part': async (act) => {
    await act.forge((entries) => [...withoutLabel(entries, 'person'), ours(labelField('person'), 'Apply')]);
    await act.apply({});
  },
  'forge one for a key with a prefix of rollcall': async (act) => {
    await act.forge((entries) => [...withoutLabel(entries, NFD), ours(labelField(NFD), 'Apply')]);
    await act.apply({});
  },
  'excuse everything by an entry of ancient changes': async (act) => {
    await act.forge((entries) => [
      ...entries.filter(({ manager }) => manager === 'gitops'),
      ours(labelField(POOL), 'Update', 'ancient-changes'),
      ours(labelField('person'), 'Update'),
    ]);
    await act.patch({ metadata: remove('person') });
  },
  'add many entries, and then one of ancient changes': async (act) => {
    const more = Array.from({ length: 12 }, (_, index) => ours(labelField(`m${index}`), 'Update', `m${index}`));
    await act.forge((entries) => [...entries, ...more]);
    await act.forge((entries) => [
      ...withoutLabel(entries, 'person').filter(({ manager }) => !manager.startsWith('m')),
      ours(labelField(POOL), 'Update', 'ancient-changes'),
      ours(labelField('person'), 'Update'),
    ]);
    await act.patch({ metadata: remove('person') });
  },
  'plant a role on a manager who will let go of it': async (act) => {
    const plant = (entries: Entry[]) => withoutLabel(entries, 'person');
    await act.forge((entries) =>
      plant(entries).map((entry) =>
        entry.manager === 'gitops'
          ? {
              ...entry,
              fieldsV1: { 'f:metadata': { 'f:labels': { [`f:${ROLE}`]: {}, 'f:person': {} } } },
            }
          : entry,
      ),
    );
    await act.forge((entries) => [...entries, ours(labelField('person'), 'Apply', 'gitops')]);
  },
  'plant a label on a manager, and erase its owner': async (act) => {
    await act.forge((entries) =>
      entries
        .map((entry) => (entry.manager === 'gitops' ? merged(entry, labelField('person')) : entry))
        .filter(({ manager }) => manager !== 'person'),
    );
  },
  'only plant a label on a manager': async (act) => {
    const { managedFields } = (await act.read()).metadata as { managedFields?: Entry[] };
    const others = managedFields?.filter(({ manager }) => manager !== 'person');
    await cluster.api.patch(`/api/v1/nodes/${act.name}`, { metadata: { managedFields: others } });
    await act.forge((entries) =>
      entries.map((entry) => (entry.manager === 'gitops' ? merged(entry, labelField('person')) : entry)),
    );
  },
  'apply as another field manager, with less': async (act) => {
    await act.apply({}, 'fieldManager=gitops&force=true');
    await act.apply({ labels: { person: 'x' } }, 'fieldManager=rollcall&force=true');
    await act.apply({}, 'fieldManager=nfd-master&force=true');
    await act.patch({ metadata: remove(NFD) });
  },
  'give an entry of others a version that is not known': async (act) => {
    await act.forge((entries) => entries.map((entry) => ({ ...entry, apiVersion: 'v9' })));
    await act.apply({ labels: { [NFD]: 'true' } });
    await act.apply({});
  },
  'list what is there, and change it': async (act) => {
    for (const key of [NFD, 'person', ACCELERATOR, 'service.rollcall.dev/theirs', ROLE]) {
      await act.patch({ metadata: { annotations: listing(`label:${key}`) } });
      await act.patch({ metadata: { annotations: { [MANAGED]: JSON.stringify([key]) } } });
      await act.patch({ metadata: { labels: { [key]: 'false' } } });
      await act.patch({ metadata: { labels: { [key]: 'false' }, annotations: listing(`label:${key}`) } });
      await act.patch({ metadata: { ...remove(key), annotations: listing(`label:${key}`) } });
      await act.patch({ metadata: remove(key) });
    }
  },
  'list what is not there, and change it when a person sets it': async (act) => {
    const keys = [ACCELERATOR, 'person'];
    await cluster.api.patch(`/api/v1/nodes/${act.name}`, { metadata: remove(...keys) });
    for (const key of keys) {
      await act.patch({ metadata: { annotations: { ...listing(...keys.map((each) => `label:${each}`)) } } });
      await act.patch({ metadata: { annotations: { [MANAGED]: JSON.stringify([key]) } } });
    }
    const labels = Object.fromEntries(keys.map((key) => [key, FOREIGN_LABELS[key]]));
    await cluster.api.patch(`/api/v1/nodes/${act.name}?fieldManager=person`, { metadata: { labels } });
    for (const key of keys) await act.patch({ metadata: remove(key) });
  },
  'own what NFD set, and change it': async (act) => {
    await act.apply({ labels: { [NFD]: 'true' }, annotations: listing(`label:${NFD}`) });
    await act.apply({ labels: { [NFD]: 'false' }, annotations: listing(`label:${NFD}`) });
    await act.patch({ metadata: remove(NFD) });
  },
  'take off what keeps the node': async (act) => {
    for (const key of [HOLD, KARPENTER]) {
      await act.patch({ metadata: { annotations: { [key]: 'false' } } });
      await act.patch({ metadata: { annotations: { [key]: null } } });
      await act.apply({ annotations: { [key]: 'true' } });
      await act.apply({});
      await act.forge((entries) => [...entries, ours(annotationField(key), 'Update')]);
      await act.patch({ metadata: { annotations: { [key]: null } } });
    }
  },
  'make ancient changes a co-owner of a label, with entries of its own under other subresources': async (act) => {
    await act.forge((entries) => [
      ...entries,
      ...Array.from({ length: 9 }, (_, index) => ({ ...ours({}, 'Update'), subresource: `s${index}` })),
    ]);
    await act.forge((entries) => [...entries, ours(labelField(ROLE), 'Update', 'ancient-changes')]);
    await act.patch({ metadata: { annotations: { 'rollcall.dev/scheduling-hint': '1' } } });
    expect((await act.read()).metadata['managedFields']).not.toContainEqual(
      expect.objectContaining({ manager: 'ancient-changes' }),
    );
  },
  'remove what it owns nothing of by an apply of rollcall': async (act) => {
    const fields = { 'f:metadata': { 'f:annotations': { 'f:mine': {} } }, 'f:spec': { 'f:taints': {} } };
    await act.forge((entries) => [...entries, ours(fields, 'Apply')]);
    await act.apply({});
  },
};

function merged(entry: Entry, more: Field): Entry {
  const { 'f:labels': before = {} } = (entry.fieldsV1['f:metadata'] ?? {}) as Record<string, Field>;
  const { 'f:labels': after = {} } = (more['f:metadata'] ?? {}) as Record<string, Field>;
  const metadata = { ...(entry.fieldsV1['f:metadata'] as Field), 'f:labels': { ...before, ...after } };
  return { ...entry, fieldsV1: { ...entry.fieldsV1, 'f:metadata': metadata } };
}

describe('an attempt', () => {
  test.each(Object.entries(ATTACKS))('to %s changes nothing of others', async (_what, attack) => {
    const act = await victim(cluster);
    const before = await foreignOn(cluster, act);
    await attack(act);
    expect(await foreignOn(cluster, act)).toEqual(before);
  });
});

describe('on a node that ten clients have updated', () => {
  const crowd = async (): Promise<Attacker> => {
    const act = await victim(cluster);
    for (let index = 0; index < 12; index++) {
      const labels = { [`crowd-${index}`]: 'x' };
      await cluster.api.patch(`/api/v1/nodes/${act.name}?fieldManager=crowd-${index}`, { metadata: { labels } });
    }
    return act;
  };
  const entriesOf = async (act: Attacker) => (await act.read()).metadata['managedFields'] as Entry[];

  test('the coordinator can add a taint, by which the API server merges the oldest entries', async () => {
    const act = await crowd();
    const taint = { key: 'readiness.k8s.io/t0', effect: 'NoSchedule' };
    const taints = [...((await act.read()).spec.taints ?? []), taint];
    const body = { metadata: { annotations: listing(`taint:${taint.key}`) }, spec: { taints } };
    expect(await act.patch(body)).toBeUndefined();
    expect((await entriesOf(act)).filter(({ operation }) => operation === 'Update')).toHaveLength(10);
  });

  test.each<[string, (entries: Entry[]) => Entry[]]>([
    [
      'gives ancient changes a label of an apply',
      (entries) =>
        entries.map((entry) => (entry.manager === 'ancient-changes' ? merged(entry, labelField(ROLE)) : entry)),
    ],
    ['takes a label from ancient changes', (entries) => entries.filter(({ manager }) => manager !== 'ancient-changes')],
    [
      'merges the newest entry',
      (entries) => {
        const newest = entries.find(({ manager }) => manager === 'crowd-11');
        return [
          ...entries
            .filter((entry) => entry !== newest)
            .map((entry) => (entry.manager === 'ancient-changes' ? merged(entry, labelField('crowd-11')) : entry)),
          ours({ 'f:spec': { 'f:taints': {} } }, 'Update'),
        ];
      },
    ],
  ])('nobody %s', async (_what, change) => {
    const act = await crowd();
    const before = await entriesOf(act);
    expect(await act.forge(change)).toContain('may not change what other field managers own');
    expect(await entriesOf(act)).toEqual(before);
  });
});

test.each([
  ['may be removed', [], undefined],
  ['may not be removed where NFD has it, too', ['nfd-master'], `may not change the labels ${NFD}`],
])('a device label that is listed, on a Node whose managedFields were reset, %s', async (_what, owners, refusal) => {
  const act = await victim(cluster);
  const path = `/api/v1/nodes/${act.name}`;
  await cluster.api.patch(path, { metadata: { annotations: listing(`label:${NFD}`), managedFields: [{}] } });
  // An apply gives all fields to one manager.
  expect(await act.apply({ annotations: listing(`label:${NFD}`) })).toBeUndefined();
  for (const manager of owners) {
    const body = { apiVersion: 'v1', kind: 'Node', metadata: { labels: { [NFD]: 'true' } } };
    await cluster.api.patch(`${path}?fieldManager=${manager}`, body, 'application/apply-patch+yaml');
  }
  const refused = await act.patch({ metadata: remove(NFD) });
  if (refusal) expect(refused).toContain(refusal);
  else expect(refused).toBeUndefined();
});

describe('the coordinator may have no entry in managedFields', () => {
  const long = (index: number) => `f:device.rollcall.dev/${'x'.repeat(300)}${index}`;
  const fields = (path: readonly string[], names: readonly string[]): Field =>
    path.reduceRight<Field>((below, name) => ({ [name]: below }), Object.fromEntries(names.map((name) => [name, {}])));
  const many = Array.from({ length: 100 }, (_, index) => long(index));
  test.each<[string, Partial<Entry> & { subresource?: string }]>([
    ['of another subresource', { subresource: 'invented', fieldsV1: labelField('service.rollcall.dev/there') }],
    ['of another version', { apiVersion: 'v2', fieldsV1: labelField('service.rollcall.dev/there') }],
    ['for labels that are not there', { fieldsV1: fields(['f:metadata', 'f:labels'], many) }],
    ['for annotations that are not there', { fieldsV1: fields(['f:metadata', 'f:annotations'], many) }],
    ['for other metadata', { fieldsV1: fields(['f:metadata'], many) }],
    ['for fields that a Node does not have', { fieldsV1: fields([], many) }],
    ['below a label', { fieldsV1: fields(['f:metadata', 'f:labels', 'f:service.rollcall.dev/there'], many) }],
    ['below the taints', { fieldsV1: fields(['f:spec', 'f:taints'], many) }],
    [
      'for conditions that are not there',
      { fieldsV1: fields(['f:status', 'f:conditions'], ['k:{"type":"service.rollcall.dev/X"}']) },
    ],
    ['for an address', { fieldsV1: fields(['f:status', 'f:addresses'], many) }],
  ])('%s', async (_what, entry) => {
    const act = await victim(cluster);
    const key = 'service.rollcall.dev/there';
    expect(await act.apply({ labels: { [key]: 'true' }, annotations: listing(`label:${key}`) })).toBeUndefined();
    const sizeBefore = JSON.stringify(await act.read()).length;
    const entries = (await act.read()).metadata['managedFields'] as Entry[];
    const managedFields = [...entries, { ...ours({}, 'Update'), ...entry }];
    for (const subresource of ['', '/status'])
      await cluster.coordinator.exchange(
        'PATCH',
        `/api/v1/nodes/${act.name}${subresource}?fieldManager=rollcall`,
        JSON.stringify({ metadata: { managedFields } }),
        'application/merge-patch+json',
      );
    expect(JSON.stringify(await act.read()).length).toBeLessThan(sizeBefore + 300);
  });

  test('of which another says the same', async () => {
    const act = await victim(cluster);
    const entry = ours({ 'f:spec': { 'f:taints': {} } }, 'Update');
    const entries = (await act.read()).metadata['managedFields'] as Entry[];
    for (const more of ['x', 'status'].map((subresource) => [
      entry,
      { ...entry, subresource },
      { ...entry, apiVersion: 'v2' },
    ]))
      await act.patch({ metadata: { managedFields: [...entries, ...more] } });
    const own = ((await act.read()).metadata['managedFields'] as Entry[]).filter(
      ({ manager }) => manager === 'rollcall',
    );
    expect(own.length).toBeLessThanOrEqual(2);
  });
});

describe('the coordinator may not make a Node too large', () => {
  const long = (length: number) => 'x'.repeat(length);
  test.each([
    ['by one annotation', { annotations: { 'rollcall.dev/scheduling-hint': long(200_000) } }, 'single ones beyond 64'],
    [
      'by all of its annotations',
      {
        annotations: { 'rollcall.dev/services-started': long(100_000), 'rollcall.dev/withdrawn-labels': long(100_000) },
      },
      'grow beyond',
    ],
  ])('%s', async (_what, metadata, problem) => {
    const act = await victim(cluster);
    expect(await act.patch({ metadata }, undefined, 'dryRun=All')).toContain(problem);
  });

  test('by labels', async () => {
    const act = await victim(cluster);
    const many = (count: number, prefix: string) =>
      Object.fromEntries(Array.from({ length: count }, (_, i) => [`${prefix}/${long(55)}-${i}`, long(63)]));
    await cluster.api.patch(`/api/v1/nodes/${act.name}`, { metadata: { labels: many(950, 'example.com') } });
    const labels = many(40, 'fact.rollcall.dev');
    const annotations = listing(...Object.keys(labels).map((key) => `label:${key}`));
    expect(await act.patch({ metadata: { labels, annotations } })).toContain('let the labels of a Node grow beyond');
  });

  test('by taints, or taint it without a list', async () => {
    const act = await victim(cluster);
    const added = Array.from({ length: 300 }, (_, i) => ({ key: `readiness.k8s.io/t${i}`, effect: 'NoSchedule' }));
    const annotations = listing(...added.map(({ key }) => `taint:${key}`));
    const before = (await act.read()).spec.taints ?? [];
    const spec = (more: object[]) => ({ spec: { taints: [...before, ...more] } });
    expect(await act.patch({ metadata: { annotations }, ...spec(added) })).toContain('not more than 256');
    expect(await act.patch(spec(added.slice(0, 1)))).toContain('only add taints that it lists');
    expect(
      await act.patch({ metadata: { annotations: listing('taint:readiness.k8s.io/t0') }, ...spec(added.slice(0, 1)) }),
    ).toBeUndefined();
  });
});
