import { replicaDocument } from '@rollcall/common/console.test-fixtures.ts';
import { expect, test } from 'vitest';
import { fileWith, run } from '../testing/run.test-fixtures.ts';
import type { Asked } from '../testing/stand-in.test-fixtures.ts';

const changes = [{ kind: 'label', key: 'k', to: 'v\u0007', reason: 'why' }];
const CHANGED = { nodes: [{ name: 'node-1', changes, evicted: [] }] };

async function diff(change: object, ...flags: string[]) {
  const answer = {
    replica: replicaDocument(),
    looked: 1,
    problems: [],
    notes: [],
    evicts: false,
    nodes: [],
    ...change,
  };
  const asked: Asked[] = [];
  const answers = {
    'POST /v1/diff': (one: Asked) => {
      asked.push(one);
      return answer;
    },
  };
  const file = fileWith('a.yaml', 'kind: NodeService\n');
  return { ...(await run(['diff', '-f', file, ...flags], answers)), body: asked[0]?.body };
}

test('diff sends what the files propose', async () => {
  expect((await diff({})).body).toEqual({ objects: [{ kind: 'NodeService' }], rules: {} });
});

test('diff exits with 0 where nothing would change, and with 1 where something would or is not accepted', async () => {
  expect(await diff({})).toMatchObject({ exitCode: 0, text: 'Nothing would change on 1 node.\n' });
  expect((await diff(CHANGED)).exitCode).toBe(1);
  expect((await diff({ problems: ['no'] })).exitCode).toBe(1);
});

test('diff prints a document where one is asked for', async () => {
  const { text, exitCode } = await diff(CHANGED, '-o', 'json');
  expect(JSON.parse(text)).toMatchObject(CHANGED);
  expect(exitCode).toBe(1);
});

test('diff prints text that can move no cursor', async () => {
  expect((await diff(CHANGED)).text).toContain('+ v\\u{7}');
});

test('diff is not answered by a standby, but as a document', async () => {
  const replica = replicaDocument({ leading: false });
  await expect(diff({ replica })).rejects.toMatchObject({ exitCode: 3 });
  expect((await diff({ replica }, '-o', 'json')).exitCode).toBe(3);
});
