import { keyDocument, nodeDocument, READY_LABEL, replicaDocument } from '@rollcall/common/console.test-fixtures.ts';
import type { NodeDocument } from '@rollcall/common/console.ts';
import { describe, expect, test } from 'vitest';
import { type Ran, run } from '../testing/run.test-fixtures.ts';
import { type Answers, Status } from '../testing/stand-in.test-fixtures.ts';

const NODE = '/v1/nodes/node-7';
const OBJECT = {
  metadata: {
    name: 'node-7',
    managedFields: [{ manager: 'a\u0007', fieldsV1: { 'f:metadata': { 'f:labels': { [`f:${READY_LABEL}`]: {} } } } }],
  },
};
const standby = replicaDocument({ leading: false });

const whyNode = (document: NodeDocument, ...rest: string[]): Promise<Ran> =>
  run(['why', 'node/node-7', ...rest], { [NODE]: document }, { '/api/v1/nodes/node-7': OBJECT });

describe('why of a node', () => {
  test.each(['node', 'nodes', 'no'])('is asked for as %s/NAME', async (kind) => {
    const { text, exitCode } = await run(['why', `${kind}/node-7`], { [NODE]: nodeDocument() });
    expect(text).toMatch(/^node\/node-7 is as rollcall wants it/);
    expect(exitCode).toBe(0);
  });

  test('exits with 1 where something is wrong, and with 3 at a standby', async () => {
    const wrong = nodeDocument({ keys: [keyDocument({ contested: { rival: 'a', nextTrySeconds: 1 } })] });
    expect((await whyNode(wrong)).exitCode).toBe(1);
    expect((await whyNode(nodeDocument({ replica: standby }))).exitCode).toBe(3);
  });

  test('names the owners of keys by the API server, as text that can move no cursor', async () => {
    const { text, notes } = await whyNode(nodeDocument());
    expect(text).toContain('"true", owned by a\\u{7}');
    expect(notes).toBe('');
  });

  test('says that it does not know the owners where the API server does not say', async () => {
    const of = (kube?: Answers) => run(['why', 'node/node-7'], { [NODE]: nodeDocument() }, kube);
    const forbidden = await of({ '/api/v1/nodes/node-7': new Status(403) });
    expect(forbidden).toMatchObject({ exitCode: 0, notes: 'The owners of the keys are unknown: it is a 403\n' });
    expect(forbidden.text).not.toContain('owned by');
    expect((await of()).notes).toBe('The owners of the keys are unknown: the API server cannot be reached\n');
  });

  test('of one key is about that key, the right one of several', async () => {
    const keys = ['k', 'l', 'm'].map((key) => keyDocument({ key, reason: `of ${key}\u0007` }));
    const { text } = await whyNode(nodeDocument({ keys }), 'l');
    expect(text).toMatch(/^node\/node-7 has the label l: of l\\u\{7\}\n/);
    expect(text).not.toMatch(/label [km]/);
  });

  test('prints a document where one is asked for, with the one key', async () => {
    const keys = ['k', 'l'].map((key) => keyDocument({ key }));
    const all = await whyNode(nodeDocument({ keys }), '-o', 'json');
    expect(JSON.parse(all.text).keys).toHaveLength(2);
    expect(all).toMatchObject({ exitCode: 0, notes: '' });
    expect(JSON.parse((await whyNode(nodeDocument({ keys }), 'l', '-o', 'json')).text).keys).toMatchObject([
      { key: 'l' },
    ]);
    expect((await whyNode(nodeDocument({ replica: standby }), '-o', 'json')).exitCode).toBe(3);
  });

  test('of a key that no labeler decides about names the CRD that is missing', async () => {
    const installed = { resources: [{ name: 'nodeservices' }] };
    const asked = run(
      ['why', 'node/node-7', 'k'],
      { [NODE]: nodeDocument() },
      { '/apis/rollcall.dev/v1alpha1': installed },
    );
    await expect(asked).rejects.toMatchObject({
      message: expect.stringContaining('the CRD of nodepoollabels is not installed'),
      exitCode: 1,
    });
  });

  test('that rollcall does not know exits with 1', async () => {
    await expect(run(['why', 'node/none'], {})).rejects.toMatchObject({
      message: 'rollcall does not know the node none',
      cure: 'list the nodes: kubectl get nodes',
      exitCode: 1,
    });
  });
});

describe('why of a pod', () => {
  const PATH = '/v1/schedule?pod=ns%2Fws-1';
  const pod = { namespace: 'ns', name: 'ws-1', workspace: 'regular', images: [] };
  const schedule = (passes: boolean, replica = replicaDocument()) => {
    const refusals = passes ? [] : [{ rule: 'r', message: 'full\u0007' }];
    return { replica, pod, nodes: [{ name: 'node-1', passes, refusals, score: 1, terms: [{}] }] };
  };
  const whyPod = (document: object, ...flags: string[]) => run(['why', 'pod/ns/ws-1', ...flags], { [PATH]: document });

  test.each(['pod', 'pods', 'po'])('is asked for as %s/NAMESPACE/NAME', async (kind) => {
    const { text, exitCode } = await run(['why', `${kind}/ns/ws-1`], { [PATH]: schedule(true) });
    expect(text).toMatch(/^pod\/ns\/ws-1 may run on 1 of 1 node/);
    expect(exitCode).toBe(0);
  });

  test('exits with 1 where it may run nowhere', async () => {
    const { text, exitCode } = await whyPod(schedule(false));
    expect(text).toContain('1 node: full\\u{7}');
    expect(exitCode).toBe(1);
  });

  test('is not answered by a standby', async () => {
    await expect(whyPod(schedule(true, standby))).rejects.toMatchObject({
      message: 'The state is unknown: the replica that answered does not lead',
      cure: expect.stringContaining('no leader is known; see why: kubectl -n rollcall logs '),
      exitCode: 3,
    });
    const led = replicaDocument({ leading: false, leader: 'other' });
    await expect(whyPod(schedule(true, led))).rejects.toMatchObject({ cure: 'ask the leader, other' });
  });

  test('prints a document where one is asked for', async () => {
    const json = await whyPod(schedule(false), '-o', 'json');
    expect(JSON.parse(json.text)).toMatchObject({ pod: { name: 'ws-1' } });
    expect(json.exitCode).toBe(0);
    expect((await whyPod(schedule(false, standby), '-o', 'json')).exitCode).toBe(3);
  });

  test('that is not there exits with 1', async () => {
    await expect(run(['why', 'pod/ns/none'], {})).rejects.toMatchObject({
      message: 'There is no pod ns/none',
      cure: 'list the pods: kubectl -n ns get pods',
      exitCode: 1,
    });
  });

  test('has no keys', async () => {
    await expect(run(['why', 'pod/ns/ws-1', 'k'], {})).rejects.toMatchObject({
      message: 'A key can be given for a node only, not for a pod',
      cure: 'leave out k; only nodes have keys: node/NAME KEY',
      exitCode: 2,
    });
  });
});

test.each(['node', 'node/', 'node/a/b', 'pod/a', 'pod/a/b/c', 'service/a', 'xpod/a/b', ''])(
  'why of %j is neither of a node nor of a pod',
  async (subject) => {
    await expect(run(['why', subject], {})).rejects.toMatchObject({
      message: `"${subject}" is neither a node nor a pod`,
      cure: 'write node/NAME, node/NAME KEY, or pod/NAMESPACE/NAME',
      exitCode: 2,
    });
  },
);
