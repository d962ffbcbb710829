import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { NodeObject } from '../../control-plane/cluster.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { watchNodes } from '../../control-plane/watch.ts';
import { startPolicy } from './policy.ts';
import {
  annotation,
  applyAs,
  type Cluster,
  coordinatorClient,
  label,
  newNode,
  type RecordingClient,
  readNode,
  startCluster,
  startWriterRig,
  type WriterRig,
} from './writer-rig.ts';

let cluster: Cluster;
let client: RecordingClient;
let rig: WriterRig;

beforeAll(async () => {
  cluster = await startCluster();
  client = coordinatorClient(cluster);
  rig = startWriterRig(cluster, { client });
});
afterAll(async () => {
  await rig?.stop();
  await cluster?.controlPlane.stop();
});

async function labelsOf(name: string): Promise<Record<string, string>> {
  return (await readNode(cluster, name)).metadata.labels ?? {};
}

/** Writes to this Node that were more than a rehearsal. */
function writesTo(name: string): number {
  return client.sent.filter(({ path, query }) => path.endsWith(`/${name}`) && !query?.['dryRun']).length;
}

function unwritableOn(name: string): string[] {
  return rig.skipped.keysFor(name).map(({ cause, kind, key }) => `${cause} ${kind} ${key}`);
}

/** The Node as others made it: without our keys and what moves with every write. */
function othersPart(node: NodeObject, ours: RegExp): string {
  const { managedFields: _fields, resourceVersion: _version, ...metadata } = node.metadata;
  const without = (map: Record<string, string> = {}) =>
    Object.fromEntries(Object.entries(map).filter(([key]) => !ours.test(key)));
  const kept = { ...metadata, labels: without(metadata.labels), annotations: without(metadata.annotations) };
  return JSON.stringify({ ...node, metadata: kept });
}

describe('a malformed key', () => {
  test('is skipped by itself, and the rest lands with the second request', async () => {
    await newNode(cluster, 'malformed');
    rig.want('malformed', [
      label('bad key!', '1'),
      label('a.io/value', 'a b'),
      annotation('a.io/x', '1'),
      label('y', '1'),
    ]);
    await rig.until('malformed');
    const { labels, annotations } = (await readNode(cluster, 'malformed')).metadata;
    expect(labels).toHaveProperty('y', '1');
    expect(annotations).toHaveProperty('a.io/x', '1');
    expect(unwritableOn('malformed')).toEqual(['invalid label bad key!', 'invalid label a.io/value']);
    expect(writesTo('malformed')).toBe(2);
  });

  test('is tried again as soon as another value is wanted', async () => {
    rig.want('malformed', [label('a.io/value', 'a-b')]);
    await rig.until('malformed');
    expect(await labelsOf('malformed')).toHaveProperty('a.io/value', 'a-b');
    expect(unwritableOn('malformed')).toEqual([]);
  });

  test('is found by trying when the rules do not tell it: annotations that are too large together', async () => {
    await newNode(cluster, 'large');
    const large = [annotation('a.io/large-1', 'x'.repeat(200_000)), annotation('a.io/large-2', 'x'.repeat(200_000))];
    rig.want('large', [label('first', '1'), ...large, annotation('a.io/small', '1')]);
    await rig.until('large');
    const { labels, annotations } = (await readNode(cluster, 'large')).metadata;
    expect(labels).toHaveProperty('first', '1');
    expect(Object.keys(annotations ?? {}).toSorted()).toEqual(['a.io/large-1', 'a.io/small']);
    expect(unwritableOn('large')).toEqual(['invalid annotation a.io/large-2']);
  });
});

describe('a key of another field manager', () => {
  test('is left alone, and the rest lands with the second request', async () => {
    await newNode(cluster, 'foreign');
    await applyAs(cluster, 'argo', 'foreign', { labels: { tier: 'silver', zone: 'b' } });
    await rig.sees('foreign', 'tier', 'silver');
    rig.want('foreign', [label('tier', 'gold'), label('zone', 'a'), label('mine', '1')]);
    await rig.until('foreign');
    expect(await labelsOf('foreign')).toMatchObject({ tier: 'silver', zone: 'b', mine: '1' });
    expect(unwritableOn('foreign').toSorted()).toEqual(['foreign label tier', 'foreign label zone']);
    expect(writesTo('foreign')).toBe(2);
  });

  test('is not tried again while nothing about it changes', async () => {
    const before = writesTo('foreign');
    await applyAs(cluster, 'kubelet', 'foreign', { labels: { unrelated: '1' } });
    await rig.sees('foreign', 'unrelated', '1');
    rig.writeQueue.add('foreign');
    await rig.requests.settled();
    expect(writesTo('foreign')).toBe(before);
  });

  test('becomes ours when its owner gives it up', async () => {
    await applyAs(cluster, 'argo', 'foreign', { labels: { zone: 'b' } });
    await waitFor('our value', async () => (await labelsOf('foreign'))['tier'] === 'gold');
    expect(unwritableOn('foreign')).toEqual(['foreign label zone']);
  });

  test('is shared when its owner comes to want the same', async () => {
    await applyAs(cluster, 'argo', 'foreign', { labels: { zone: 'a' } });
    await waitFor('nothing to be skipped', () => unwritableOn('foreign').length === 0 && rig.holds('foreign'));
    rig.want('foreign', []);
    await rig.until('foreign');
    expect(await labelsOf('foreign')).toMatchObject({ zone: 'a' });
    expect(await labelsOf('foreign')).not.toHaveProperty('tier');
  });
});

describe('a key that an admission policy refuses', () => {
  test.each(['Invalid', 'Forbidden', 'RequestEntityTooLarge'] as const)(
    'is found among forty, refused as %s, and the rest lands in one write',
    async (reason) => {
      const name = `denied-${reason.toLowerCase()}`;
      await newNode(cluster, name);
      const policy = await startPolicy(cluster, {
        reason,
        expression: `!object.metadata.labels.exists(k, k in ['a.io/k7', 'a.io/k31'])`,
        message: 'not these',
        refused: { labels: { 'a.io/k7': '1' } },
      });
      const before = writesTo(name);
      rig.want(name, [
        ...Array.from({ length: 40 }, (_, index) => label(`a.io/k${index}`, '1')),
        annotation('a.io/n', '1'),
      ]);
      await rig.until(name);
      const ours = Object.keys(await labelsOf(name)).filter((key) => key.startsWith('a.io/'));
      expect(ours).toHaveLength(38);
      expect(unwritableOn(name).toSorted()).toEqual(['denied label a.io/k31', 'denied label a.io/k7']);
      expect(rig.skipped.keysFor(name)[0]?.message).toContain('not these');
      expect(writesTo(name) - before).toBe(2);
      await policy.remove();
    },
  );

  test('does not hold up the others, even if so many are refused that one search does not find them all', async () => {
    await newNode(cluster, 'many');
    const policy = await startPolicy(cluster, {
      reason: 'Invalid',
      expression: `!object.metadata.labels.exists(k, k.startsWith('a.io/') && k.endsWith('3'))`,
      message: 'none with a three',
      refused: { labels: { 'a.io/3': '1' } },
    });
    rig.want(
      'many',
      Array.from({ length: 200 }, (_, index) => label(`a.io/k${index}`, '1')),
    );
    await rig.until('many');
    expect(Object.keys(await labelsOf('many')).filter((key) => key.startsWith('a.io/'))).toHaveLength(180);
    expect(unwritableOn('many')).toHaveLength(20);
    await policy.remove();
  });

  test('does not take from the node what holds there already', async () => {
    await newNode(cluster, 'steady');
    const held = Array.from({ length: 5 }, (_, index) => label(`held-${index}`, '1'));
    rig.want('steady', held);
    await rig.until('steady');
    const policy = await startPolicy(cluster, {
      reason: 'Invalid',
      // Nor would it let go of what is there.
      expression: `!('refused' in object.metadata.labels) &&
        (object.metadata.name != 'steady' || ['held-0', 'held-4'].all(k, k in object.metadata.labels))`,
      message: 'not this',
      refused: { labels: { refused: '1' } },
    });
    const seen: string[] = [];
    const stopWatch = watchNodes(cluster.controlPlane.api, ({ object: { metadata } }) => {
      if (metadata.name === 'steady')
        seen.push(
          Object.keys(metadata.labels ?? {})
            .toSorted()
            .join(),
        );
    });
    rig.want('steady', [...held, label('refused', '1'), label('good', '1')]);
    await rig.until('steady');
    await waitFor('the watch', () => seen.at(-1)?.includes('good'));
    stopWatch();
    expect(seen.filter((keys) => !keys.includes('held-0,held-1,held-2,held-3,held-4'))).toEqual([]);
    expect(unwritableOn('steady')).toEqual(['denied label refused']);
    await policy.remove();
  });

  test('with another value keeps the one that it has, even if one search does not find them all', async () => {
    await newNode(cluster, 'changed');
    const keys = Array.from({ length: 200 }, (_, index) => `a.io/k${index}`);
    rig.want(
      'changed',
      keys.map((key) => label(key, '1')),
    );
    await rig.until('changed');
    const policy = await startPolicy(cluster, {
      reason: 'Invalid',
      expression: `!object.metadata.labels.exists(k, k.endsWith('3') && object.metadata.labels[k] == '2')`,
      message: 'none with a three',
      refused: { labels: { 'a.io/3': '2' } },
    });
    const counts: number[] = [];
    const stopWatch = watchNodes(cluster.controlPlane.api, ({ object: { metadata } }) => {
      if (metadata.name === 'changed')
        counts.push(Object.keys(metadata.labels ?? {}).filter((key) => key.startsWith('a.io/')).length);
    });
    rig.want(
      'changed',
      keys.map((key) => label(key, '2')),
    );
    await rig.until('changed');
    const labels = await labelsOf('changed');
    for (const key of keys) expect(labels[key]).toBe(key.endsWith('3') ? '1' : '2');
    await waitFor('the watch', () => counts.length > 1);
    stopWatch();
    expect(counts.filter((count) => count < 200)).toEqual([]);
    await policy.remove();
  });

  test('to remove does not keep the others from being removed, nor the rest from being set', async () => {
    await newNode(cluster, 'kept', { labels: { ready: 'true', stubborn: 'true', other: 'true' } });
    const policy = await startPolicy(cluster, {
      reason: 'Invalid',
      expression: `object.metadata.name != 'kept' || 'stubborn' in object.metadata.labels`,
      message: 'not that one',
      refused: { labels: { stubborn: null } },
      on: 'kept',
    });
    const withheld = (key: string) => label(key, 'true', { stance: 'absent', ownership: 'exclusive' });
    rig.want('kept', [withheld('ready'), withheld('stubborn'), withheld('other'), label('mine', '1')]);
    await waitFor('the rest', async () => {
      const labels = await labelsOf('kept');
      return labels['mine'] === '1' && !('ready' in labels) && !('other' in labels);
    });
    expect(await labelsOf('kept')).toHaveProperty('stubborn', 'true');
    expect(rig.skipped.keysFor('kept')).toMatchObject([{ kind: 'label', key: 'stubborn' }]);
    await policy.remove();
  });

  test('to let go of does not keep the others from being let go of, nor the rest from being set', async () => {
    await newNode(cluster, 'tied');
    const shared = (key: string) => label(key, 'true', { ownership: 'shared' });
    rig.want('tied', [shared('tie'), shared('loose')]);
    await waitFor('the labels', async () => 'tie' in (await labelsOf('tied')));
    const policy = await startPolicy(cluster, {
      reason: 'Invalid',
      expression: `object.metadata.name != 'tied' || 'tie' in object.metadata.labels`,
      message: 'not the tie',
      refused: { labels: { tie: null } },
      on: 'tied',
    });
    rig.want('tied', [label('mine', '1')]);
    await waitFor('the rest', async () => {
      const labels = await labelsOf('tied');
      return labels['mine'] === '1' && !('loose' in labels);
    });
    expect(await labelsOf('tied')).toHaveProperty('tie', 'true');
    expect(rig.skipped.keysFor('tied')).toMatchObject([{ kind: 'label', key: 'tie' }]);
    await policy.remove();
  });
});

describe('a taint that a policy refuses', () => {
  const taintsOf = async (name: string) => (await readNode(cluster, name)).spec?.taints?.map(({ key }) => key) ?? [];
  const taint = (key: string, stance: 'present' | 'absent' = 'present') =>
    label(key, 'true', { kind: 'taint', stance, ownership: 'exclusive' });

  test('is left out alone, is told as such, and is tried again within 10 s', async () => {
    await newNode(cluster, 'tainted');
    await rig.requests.settled();
    const policy = await startPolicy(cluster, {
      reason: 'Invalid',
      expression: `!object.spec.?taints.orValue([]).exists(t, t.key == 'a.io/bad') && !('tried' in object.metadata.labels)`,
      message: 'not that taint',
      refused: { labels: { tried: '1' } },
    });
    rig.want('tainted', [taint('a.io/bad'), taint('a.io/good'), label('mine', '1')]);
    await waitFor('the rest', async () => (await labelsOf('tainted'))['mine'] === '1');
    expect(await taintsOf('tainted')).toEqual(['a.io/good']);
    expect(unwritableOn('tainted')).toEqual(['denied taint a.io/bad']);
    const before = writesTo('tainted');
    await waitFor('two more tries', () => writesTo('tainted') >= before + 2, { timeoutMs: 15_000 });
    await policy.remove();
    await waitFor('the taint', async () => (await taintsOf('tainted')).includes('a.io/bad'), { timeoutMs: 10_000 });
    expect(unwritableOn('tainted')).toEqual([]);
  });
});

describe('a withdrawal of which so much is refused that one search does not find it all', () => {
  const keys = Array.from({ length: 400 }, (_, index) => `a.io/k${index}`);
  const stubborn = keys.filter((key) => key.endsWith('3'));
  const gone = (key: string) => label(key, 'true', { stance: 'absent', ownership: 'exclusive' });
  const probes = (from: number, to = client.sent.length) =>
    client.sent.slice(from, to).filter(({ path, query }) => path.endsWith('/stubborn') && query?.['dryRun']).length;

  test('takes what may go, and what says that a service is not ready waits for none of it', async () => {
    await newNode(cluster, 'stubborn', { labels: Object.fromEntries(keys.map((key) => [key, 'true'])) });
    const policy = await startPolicy(cluster, {
      reason: 'Invalid',
      expression: `object.metadata.name != 'stubborn' ||
        object.metadata.labels.map(k, k).filter(k, k.startsWith('a.io/') && k.endsWith('3')).size() == ${stubborn.length}`,
      message: 'none with a three',
      refused: { labels: { 'a.io/k3': null } },
      on: 'stubborn',
    });
    const start = client.sent.length;
    rig.want('stubborn', [...keys.map(gone), { ...gone('ready'), sinceMs: 0 }]);
    await waitFor('a search', () => probes(start) > 5, { everyMs: 1 });
    await cluster.controlPlane.api.patch('/api/v1/nodes/stubborn', { metadata: { labels: { ready: 'true' } } });
    const from = client.sent.length;
    const find = () => {
      const index = client.sent.findIndex(({ body }) => JSON.stringify(body).includes('"ready":null'));
      return index < 0 ? undefined : index;
    };
    const found = await waitFor('ready to be withdrawn', find, { timeoutMs: 50_000 });
    expect(client.sent[found]?.body).toMatchObject({ metadata: { labels: { ready: null } } });
    expect(probes(from, found)).toBeLessThan(40);
    await waitFor(
      'what may go to be gone',
      async () => {
        const left = Object.keys(await labelsOf('stubborn')).filter((key) => /^(a\.io|ready)/.test(key));
        return left.length === stubborn.length && rig.skipped.keysFor('stubborn').length === left.length;
      },
      { timeoutMs: 40_000 },
    );
    expect(
      rig.skipped
        .keysFor('stubborn')
        .map(({ key }) => key)
        .toSorted(),
    ).toEqual(stubborn.toSorted());
    await policy.remove();
  });
});

describe('a refusal that is not about keys', () => {
  test('skips nothing, and everything lands when the right to write is back', async () => {
    await newNode(cluster, 'unauthorized', { labels: { ready: 'true' } });
    const path = '/apis/rbac.authorization.k8s.io/v1/clusterroles/rollcall-coordinator';
    const role = await cluster.controlPlane.api.get<NodeObject & { rules: object[] }>(path);
    await cluster.controlPlane.api.patch(path, { rules: [] });
    const admin = cluster.controlPlane.api;
    const user = 'system:serviceaccount:rollcall:rollcall-coordinator';
    const mayPatch = async () => {
      const review = await admin.post<NodeObject & { status: { allowed: boolean } }>(
        '/apis/authorization.k8s.io/v1/subjectaccessreviews',
        { spec: { user, resourceAttributes: { verb: 'patch', resource: 'nodes' } } } as object,
      );
      return review.status.allowed;
    };
    await waitFor('the right to be gone', async () => !(await mayPatch()));
    const before = client.sent.length;
    rig.want('unauthorized', [label('ready', 'true', { stance: 'absent', ownership: 'exclusive' }), label('a', '1')]);
    await waitFor('some attempts', () => client.sent.length > before + 3);
    expect(unwritableOn('unauthorized')).toEqual([]);
    expect(rig.skipped.keysFor('unauthorized')).toEqual([]);
    await admin.patch(path, { rules: role.rules });
    await rig.until('unauthorized');
    expect(await labelsOf('unauthorized')).toMatchObject({ a: '1' });
    expect(await labelsOf('unauthorized')).not.toHaveProperty('ready');
  });
});

describe('what others put on a node', () => {
  test('is the same, byte for byte, after sets, conflicts, refusals and withdrawals', async () => {
    await newNode(cluster, 'others', {
      labels: { 'node-role.kubernetes.io/gpu': '', person: 'yes', ready: 'true' },
      annotations: { 'their.io/note': '{"b":1,  "a":[]}\n', 'volumes.kubernetes.io/x': 'true' },
      taints: [
        { key: 'z', value: '1', effect: 'NoSchedule' },
        { key: 'a', effect: 'NoExecute' },
      ],
    });
    await applyAs(cluster, 'nfd', 'others', { labels: { 'feature.io/x': 'true', tier: 'silver' } });
    await cluster.controlPlane.kubectl(['annotate', 'node', 'others', 'their.io/later=by hand']);
    const ours = /^(ready|mine|bad|ours\.io)/;
    const before = othersPart(await readNode(cluster, 'others'), ours);
    const withheld = label('ready', 'true', { stance: 'absent', ownership: 'exclusive' });
    rig.want('others', [
      withheld,
      label('mine', '1'),
      label('tier', 'gold'),
      label('bad!', '1'),
      annotation('ours.io/n', '1'),
    ]);
    await rig.until('others');
    expect(await labelsOf('others')).toMatchObject({ mine: '1', tier: 'silver' });
    expect(othersPart(await readNode(cluster, 'others'), ours)).toBe(before);
    rig.want('others', []);
    await rig.until('others');
    expect(await labelsOf('others')).not.toHaveProperty('mine');
    expect(othersPart(await readNode(cluster, 'others'), ours)).toBe(before);
  });
});
