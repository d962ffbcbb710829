import { keyDocument, nodeDocument, READY_LABEL, replicaDocument } from '@rollcall/common/console.test-fixtures.ts';
import type { NodeDocument, ServiceDocument } from '@rollcall/common/console.ts';
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

  test('remembers what happened under the leader before, by Events, and says where its own record begins', async () => {
    const at = (minute: string) => `2026-03-01T11:${minute}:00Z`;
    const event = (lastTimestamp: string, message: string, component = 'rollcall', count = 1) => ({
      ...{ reason: 'ServiceNotReady', message, count, lastTimestamp, source: { component } },
    });
    const items = [
      event(at('10'), 'ws-daemon is not ready: tcp 10.0.0.7:8080 refused', 'rollcall', 3),
      event(at('20'), 'csi is not ready: no pod\u0007'),
      event(at('15'), 'NodeNotReady', 'node-controller'),
      event(at('50'), 'ws-daemon is ready: since this leader'),
    ];
    const events = '/api/v1/namespaces/default/events';
    const document = nodeDocument({ changesSince: at('30') });
    const asked = (...key: string[]) =>
      run(['why', 'node/node-7', ...key], { [NODE]: document }, { [events]: { items, metadata: {} } });
    const { text } = await asked();
    expect(text).toContain('No change by this coordinator yet, which began to lead 30m ago.');
    expect(text).toContain(
      `  older, in the log: kubectl -n rollcall logs -l app.kubernetes.io/component=coordinator --tail=-1 | grep 'Changed a node' | grep '"node-7"'\n`,
    );
    expect(text.split('before, by Events\n')[1]).toBe(
      '  40m ago   ServiceNotReady: csi is not ready: no pod\\u{7}\n' +
        '  50m ago   ServiceNotReady (3 times): ws-daemon is not ready: tcp 10.0.0.7:8080 refused\n',
    );
    expect((await asked(READY_LABEL)).text).not.toContain('csi is not ready');
  });

  test('of a label that a rule would set names the file, each line, and what is not so there', async () => {
    const rule = {
      ...{ replica: replicaDocument(), label: 'accelerators/gpu', node: 'node-7', file: 'accelerators/gpu' },
      lines: [
        { line: 2, text: 'count:nvidia-gpu >= 1', truth: 'no', found: 'the agent sees 0 of nvidia-gpu' },
        {
          ...{ line: 3, text: 'feature.node.kubernetes.io/pci-0c80_8086.present', truth: 'no' },
          found: 'the node has no feature.node.kubernetes.io/pci-0c80_8086.present',
          left: 'the agent sees pci 8086, but its class 0c80 is not in --pci-device-class-whitelist (03)',
        },
      ],
    };
    const answers = { [NODE]: nodeDocument(), '/v1/rules?label=accelerators%2Fgpu&node=node-7': rule };
    const { text, exitCode } = await run(['why', 'node/node-7', 'accelerators/gpu'], answers);
    expect(exitCode).toBe(1);
    expect(text).toBe(
      [
        'node/node-7 does not get the label accelerators/gpu by the rule file accelerators/gpu: no line holds.\n',
        'line 2    count:nvidia-gpu >= 1',
        '          does not hold: the agent sees 0 of nvidia-gpu',
        'line 3    feature.node.kubernetes.io/pci-0c80_8086.present',
        '          does not hold: the node has no feature.node.kubernetes.io/pci-0c80_8086.present',
        '          the agent sees pci 8086, but its class 0c80 is not in --pci-device-class-whitelist (03)\n',
      ].join('\n'),
    );
    const json = await run(['why', 'node/node-7', 'accelerators/gpu', '-o', 'json'], answers);
    expect(JSON.parse(json.text)).toEqual(rule);
  });

  test('that rollcall does not know exits with 1', async () => {
    await expect(run(['why', 'node/none'], {})).rejects.toMatchObject({
      message: 'rollcall does not know the node none',
      cure: 'list the nodes: kubectl get nodes',
      exitCode: 1,
    });
  });
});

describe('why of a NodeService', () => {
  const service = (change: Partial<ServiceDocument> = {}): ServiceDocument => ({
    ...{ name: 'csi', origin: 'NodeService', accepted: true, mode: 'Continuous' },
    publish: { label: 'service.rollcall.dev/csi' },
    checks: [{ name: 'pod', what: 'a pod in kube-sytem on the node is Ready and not terminating' }],
    nodes: { ready: 0, notReady: 5, unknown: 0 },
    commonest: {
      ...{ state: 'not-ready', reason: 'no pod on the node matches app=csi in kube-sytem' },
      ...{ nodes: 5, example: 'node-1' },
    },
    ...change,
  });
  const whyService = (change: Partial<ServiceDocument>, replica = replicaDocument(), ...flags: string[]) =>
    run(['why', 'nodeservice/csi', ...flags], { '/v1/services': { replica, services: [service(change)] } });

  test('names the commonest reason with a node, and the command that goes on from there', async () => {
    const { text, exitCode } = await whyService({});
    expect(exitCode).toBe(1);
    expect(text).toBe(
      [
        'The service csi is ready on 0 of 5 nodes.',
        'It is not ready on 5 nodes, such as node-1: no pod on the node matches app=csi in kube-sytem',
        'fix: kubectl rollcall why node/node-1\n',
        'check     pod: a pod in kube-sytem on the node is Ready and not terminating',
        'label     service.rollcall.dev/csi',
        'nodes     0 ready, 5 not ready, 0 unknown\n',
      ].join('\n'),
    );
  });

  test('exits with 0 where it is ready everywhere, and with 1 where it is nowhere or refused', async () => {
    const all = { nodes: { ready: 2, notReady: 0, unknown: 0 } };
    const { commonest: _, ...rest } = service(all);
    const ready = await run(['why', 'nsvc/csi'], { '/v1/services': { replica: replicaDocument(), services: [rest] } });
    expect(ready).toMatchObject({ exitCode: 0, text: expect.stringContaining('is ready on 2 of 2 nodes.') });
    const refused = { accepted: false, problem: { reason: 'KeyTaken', message: 'its label is taken' } };
    expect(await whyService(refused)).toMatchObject({
      exitCode: 1,
      text: expect.stringMatching(/^The service csi is not in force: its label is taken\.\n/),
    });
    const noNode = 'no node meets pool=blu, the nodes have pool = blue';
    expect(await whyService({ nodes: { ready: 0, notReady: 0, unknown: 0 }, noNode })).toMatchObject({
      exitCode: 1,
      text: expect.stringContaining(`The service csi belongs on no node: ${noNode}.`),
    });
  });

  test('is answered by the leader alone, and of one that is not there exits with 1', async () => {
    await expect(whyService({}, standby)).rejects.toMatchObject({ exitCode: 3 });
    expect((await whyService({}, standby, '-o', 'json')).exitCode).toBe(3);
    const none = { '/v1/services': { replica: replicaDocument(), services: [] } };
    await expect(run(['why', 'nodeservice/none'], none)).rejects.toMatchObject({ exitCode: 1 });
    const one = { '/v1/services': { replica: replicaDocument(), services: [service()] } };
    await expect(run(['why', 'nodeservice/cis'], one)).rejects.toMatchObject({ cure: 'did you mean csi?' });
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

test('why of a bare name says how to write it', async () => {
  await expect(run(['why', 'node-7'], {})).rejects.toMatchObject({
    cure: 'write node/node-7, nodeservice/node-7, or pod/NAMESPACE/node-7',
  });
});

test.each(['node', 'node/', 'node/a/b', 'pod/a', 'pod/a/b/c', 'service/a', 'nodeservice/', 'xpod/a/b', ''])(
  'why of %j is of nothing that it knows',
  async (subject) => {
    await expect(run(['why', subject], {})).rejects.toMatchObject({
      message: `"${subject}" is neither a node, a NodeService nor a pod`,
      cure: 'write node/NAME, node/NAME KEY, nodeservice/NAME, or pod/NAMESPACE/NAME',
      exitCode: 2,
    });
  },
);
