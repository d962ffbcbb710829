import { CodedError } from '@rollcall/common/coded-error.ts';
import { KEYS_ANNOTATION } from '@rollcall/common/well-known.ts';
import { KINDS } from '@rollcall/coordinator/decide/intent/kinds/kinds.ts';
import { type KubeRequest, KubeStatusError } from '@rollcall/coordinator/kube/client.ts';
import type { Node } from '@rollcall/coordinator/kube/objects.ts';
import type { KeyKind } from '@rollcall/coordinator/model/keys/key-entry.ts';
import { KEY_KINDS } from '@rollcall/coordinator/model/keys/key-kinds.ts';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { waitFor } from '../../control-plane/wait-for.ts';
import {
  annotation,
  type Cluster,
  coordinatorClient,
  label,
  newNode,
  readNode,
  startCluster,
  startWriterRig,
  type Wish,
  type WriterRig,
} from './writer-rig.ts';

/** Every kind of key goes through the same histories on a real API server; a new kind needs a row in `ROWS`. */

const [KEY, OTHER] = ['example.com/key', 'example.com/other'];
const MERGE = 'application/merge-patch+json';
const STRATEGIC = 'application/strategic-merge-patch+json';
type PatchType = typeof MERGE | typeof STRATEGIC;

type Row = {
  /** Two values as `valueOn` shows them. */
  one: string;
  two: string;
  wish: (key: string, value: string) => Wish;
  /** The change by which a person gives the key a value, or removes it: a body, its content type, a subresource. */
  edit: (value: string | undefined) => [body: object, contentType: PatchType, subresource?: string];
  /** Whether a key that another writer has stays as it is. */
  isLeftToOthers: boolean;
};

const OF_SERVICE = { ownership: 'exclusive', origin: 'service:u' } as const;
const NEWS = { reason: 'Said', message: 'as it is', at: '2026-01-01T00:00:00Z' };

const ROWS = {
  label: {
    ...{ one: 'one', two: 'two', isLeftToOthers: true },
    wish: (key, value) => label(key, value, OF_SERVICE),
    edit: (value) => [{ metadata: { labels: { [KEY]: value ?? null } } }, MERGE],
  },
  annotation: {
    ...{ one: 'one', two: 'two', isLeftToOthers: true },
    wish: (key, value) => annotation(key, value, { ownership: 'forced' }),
    edit: (value) => [{ metadata: { annotations: { [KEY]: value ?? null } } }, MERGE],
  },
  taint: {
    ...{ one: 'one:NoSchedule', two: 'two:NoSchedule', isLeftToOthers: false },
    wish: (key, value) => ({ ...label(key, value.split(':')[0] ?? '', OF_SERVICE), kind: 'taint' }),
    edit: (value) => {
      const [text, effect] = value?.split(':') ?? [];
      return [{ spec: { taints: value === undefined ? [] : [{ key: KEY, value: text, effect }] } }, MERGE];
    },
  },
  condition: {
    ...{ one: 'False', two: 'True', isLeftToOthers: true },
    wish: (key, value) => ({ ...label(key, value, { origin: 'service:u', news: NEWS }), kind: 'condition' }),
    edit: (value) => {
      const entry = value === undefined ? { type: KEY, $patch: 'delete' } : { type: KEY, status: value };
      return [{ status: { conditions: [entry] } }, STRATEGIC, 'status'];
    },
  },
} satisfies Record<KeyKind, Row>;

let cluster: Cluster;
let rig: WriterRig;
let sent: KubeRequest[] = [];
/** What becomes of a request to a Node instead of being sent. */
let fault: ((request: KubeRequest, send: () => Promise<unknown>) => Promise<unknown>) | undefined;

beforeAll(async () => {
  cluster = await startCluster();
  const client = coordinatorClient(cluster);
  sent = client.sent;
  const request: typeof client.request = <T>(asked: KubeRequest) => {
    const send = () => client.request<T>(asked);
    return fault && asked.method === 'PATCH' ? (fault(asked, send) as Promise<T>) : send();
  };
  rig = startWriterRig(cluster, { client: { ...client, request } });
});
beforeEach(() => {
  fault = undefined;
});
afterAll(async () => {
  await rig?.stop();
  await cluster?.controlPlane.stop();
});

const absent = (wish: Wish): Wish => ({ ...wish, stance: 'absent' });

test('every kind of key has a row', () => {
  expect(Object.keys(ROWS).toSorted()).toEqual(Object.keys(KINDS).toSorted());
});

describe.each(Object.entries(ROWS) as [KeyKind, Row][])('a key of the kind %s', (kind, { one, two, ...row }) => {
  const valueAt = async (name: string, key = KEY) => {
    const { metadata, spec, status } = (await readNode(cluster, name)) as Node;
    const { labels = {}, annotations = {} } = metadata;
    const shown = { labels, annotations, taints: spec?.taints ?? [], conditions: status?.conditions ?? [] };
    return KINDS[kind].valueOn(shown, key);
  };
  const isListed = async (name: string) => {
    const text = (await readNode(cluster, name)).metadata.annotations?.[KEYS_ANNOTATION] ?? '{}';
    return Object.hasOwn(JSON.parse(text), `${kind}:${KEY}`);
  };
  const edit = (name: string, value: string | undefined) => {
    const [body, contentType, subresource] = row.edit(value);
    const path = `/api/v1/nodes/${name}${subresource ? `/${subresource}` : ''}`;
    return cluster.controlPlane.api.patch(`${path}?fieldManager=person`, body, contentType);
  };
  const has = (name: string, value: string | undefined, key = KEY) =>
    waitFor(`${key} to be ${value}`, async () => (await valueAt(name, key)) === value, { timeoutMs: 20_000 });
  /** Whether a request is the one that writes the key. */
  const carries = ({ path, body }: KubeRequest) =>
    (kind !== 'condition' || path.endsWith('/status')) && JSON.stringify(body).includes(KEY);
  const wanting = async (history: string, value: string) => {
    const name = `${kind}-${history}`;
    await newNode(cluster, name);
    rig.want(name, [row.wish(KEY, value)]);
    await rig.until(name);
    return name;
  };

  test('that is absent is written, listed where its kind is, and not written again while it is as wanted', async () => {
    const name = await wanting('equal', one);
    expect([await valueAt(name), await isListed(name)]).toEqual([one, KEY_KINDS[kind].isListed]);
    const writes = sent.length;
    rig.want(name, [row.wish(KEY, one)]);
    await rig.until(name);
    await rig.requests.settled();
    expect(sent.length).toBe(writes);
  });

  test('gets another value', async () => {
    const name = await wanting('differs', one);
    rig.want(name, [row.wish(KEY, two)]);
    await has(name, two);
  });

  test('that a person changes or removes comes back', async () => {
    const name = await wanting('edited', one);
    await edit(name, two);
    await has(name, one);
    await edit(name, undefined);
    await has(name, one);
    await rig.until(name);
    expect(await isListed(name)).toBe(KEY_KINDS[kind].isListed);
  });

  test('goes with its cause, and its place in the list as well', async () => {
    const name = await wanting('removed', one);
    rig.want(name, [absent(row.wish(KEY, one))]);
    await rig.until(name);
    expect([await valueAt(name), await isListed(name)]).toEqual([undefined, false]);
  });

  test('that another writer has is left to it and named, or taken over', async () => {
    const name = `${kind}-foreign`;
    await newNode(cluster, name);
    await edit(name, two);
    const wish = row.wish(KEY, one);
    rig.want(name, [{ ...wish, ownership: row.isLeftToOthers ? 'shared' : wish.ownership }, row.wish(OTHER, one)]);
    await has(name, one, OTHER);
    await rig.until(name);
    const skipped = row.isLeftToOthers ? [{ kind, key: KEY, cause: 'foreign', wanted: one }] : [];
    expect(rig.skipped.keysFor(name)).toMatchObject(skipped);
    expect(await valueAt(name)).toBe(row.isLeftToOthers ? two : one);
  });

  test('that is refused with a field for its cause holds up no other, and is tried again by itself', async () => {
    const name = `${kind}-refused`;
    await newNode(cluster, name);
    const causes = [{ reason: 'FieldValueInvalid', field: KINDS[kind].field, message: 'on purpose' }];
    fault = async (request, send) => {
      if (carries(request)) throw new KubeStatusError(422, { details: { causes } }, undefined, {});
      return send();
    };
    rig.want(name, [row.wish(KEY, one), row.wish(OTHER, one)]);
    await has(name, one, OTHER);
    await waitFor('it to be left out', () => rig.skipped.keysFor(name).some(({ key }) => key === KEY));
    expect(rig.skipped.keysFor(name)).toMatchObject([{ kind, key: KEY, wanted: one }]);
    fault = undefined;
    await has(name, one);
    await rig.until(name);
    expect(rig.skipped.keysFor(name)).toEqual([]);
  });

  test('of which the answer to the write is lost goes with its cause all the same', async () => {
    const name = `${kind}-lost`;
    await newNode(cluster, name);
    let isLost = false;
    fault = async (request, send) => {
      const answer = await send();
      if (!carries(request) || isLost) return answer;
      isLost = true;
      throw new CodedError('KUBE_UNREACHABLE', 'on purpose', { fields: { timeoutMs: 10_000 } });
    };
    rig.want(name, [row.wish(KEY, one)]);
    await waitFor('the answer to be lost', () => isLost, { everyMs: 1 });
    rig.want(name, [absent(row.wish(KEY, one))]);
    await has(name, undefined);
    await waitFor('it to be listed no more', async () => !(await isListed(name)));
  });
});
