import { replicaDocument } from '@rollcall/common/console.test-fixtures.ts';
import { describe, expect, test } from 'vitest';
import { fileWith, run } from '../testing/run.test-fixtures.ts';
import { type Answers, type Asked, Status } from '../testing/stand-in.test-fixtures.ts';

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

describe('diff asks the API server for a dry run of each object', () => {
  const SERVICE = 'PATCH /apis/rollcall.dev/v1alpha1/nodeservices/a';
  const POOL = 'PATCH /apis/rollcall.dev/v1alpha1/namespaces/rollcall/nodepoollabels/gold';
  const file = () =>
    fileWith(
      'a.yaml',
      'kind: NodeService\nmetadata: { name: a }\n---\nkind: NodePoolLabels\nmetadata: { name: gold }\n---\nkind: Pod\n',
    );
  const answer = { replica: replicaDocument(), looked: 1, problems: [], notes: [], evicts: false, nodes: [] };
  const asking = (kube: Answers) => run(['diff', '-f', file()], { 'POST /v1/diff': answer }, kube);

  test('and sends it as kubectl apply would, without anything being kept', async () => {
    const asked: Asked[] = [];
    const note = (one: Asked) => {
      asked.push(one);
      return {};
    };
    expect(await asking({ [SERVICE]: note, [POOL]: note })).toMatchObject({ exitCode: 0 });
    expect(asked.map(({ path }) => new URL(path, 'http://x').searchParams.get('dryRun'))).toEqual(['All', 'All']);
  });

  test('and fails with what it says against one', async () => {
    const message = 'NodeService "a" is invalid: spec.publish.label: not a valid key';
    const { exitCode, text } = await asking({ [SERVICE]: new Status(422, JSON.stringify({ message })), [POOL]: {} });
    expect(exitCode).toBe(1);
    expect(text).toContain(`fail  NodeService a would be refused by the API server: ${message}`);
  });

  test('and fails for a namespace that is missing, which is not a CRD that is missing', async () => {
    const message = 'namespaces "rollcall" not found';
    const ofNamespace = new Status(404, JSON.stringify({ message, details: { name: 'rollcall', kind: 'namespaces' } }));
    const post = POOL.replace('PATCH', 'POST').replace('/gold', '');
    const { exitCode, text } = await asking({ [SERVICE]: {}, [post]: ofNamespace });
    expect(exitCode).toBe(1);
    expect(text).toContain(`fail  NodePoolLabels gold would be refused by the API server: ${message}`);
    expect(text).not.toContain('CRD');
  });

  test('and asks about the others where a CRD is missing', async () => {
    const message = 'metadata.name: too long';
    const { text } = await asking({ [POOL]: new Status(422, JSON.stringify({ message })) });
    expect(text).toContain(`fail  NodePoolLabels gold would be refused by the API server: ${message}`);
    expect(text).toContain('whether it accepts NodeServices: the CRD of NodeServices is not installed');
  });

  test('and notes what it could not ask', async () => {
    const message = 'nodeservices is forbidden';
    const { exitCode, text } = await asking({ [SERVICE]: new Status(403, JSON.stringify({ message })) });
    expect(exitCode).toBe(0);
    expect(text).toContain(`note  The API server was not asked whether it accepts the objects: ${message}`);
  });
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
