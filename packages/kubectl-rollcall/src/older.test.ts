import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createProgram } from './program.ts';

const replica = { leading: true, guards: [], dryRun: false, staleAfterSeconds: 30, now: '2026-03-01T12:00:00.000Z' };
const probe = { ready: false, since: '2026-03-01T11:59:00.000Z', evidence: 'tcp 10.0.0.7:8080 refused the connection' };

/** What the console answered before there was a plugin that asked it. */
const DOCUMENTS: Readonly<Record<string, object>> = {
  '/v1/nodes': {
    replica,
    nodes: [
      {
        name: 'node-1',
        pool: 'regular',
        agent: 'fresh',
        services: { 'ws-daemon': 'ready' },
        heldBack: [],
        pending: false,
      },
      { name: 'node-2', agent: 'silent', services: { 'ws-daemon': 'not-ready' }, heldBack: [], pending: false },
    ],
  },
  '/v1/nodes/node-2': {
    replica,
    name: 'node-2',
    uid: 'u',
    agent: { state: 'fresh', lastReportSecondsAgo: 2.5 },
    services: [{ name: 'ws-daemon', state: 'not-ready', since: probe.since, reason: probe.evidence, pods: [], probe }],
    keys: [
      {
        kind: 'label',
        key: 'gitpod.io/ws-daemon_ready_ns_default',
        service: 'ws-daemon',
        stance: 'absent',
        value: 'true',
        onNode: null,
        reason: probe.evidence,
        labeler: 'readiness',
        ownership: 'exclusive',
      },
    ],
    changes: [],
  },
  '/v1/schedule?pod=default%2Fws-1': {
    replica,
    pod: { namespace: 'default', name: 'ws-1', workspace: 'regular', images: [] },
    nodes: [{ name: 'node-1', passes: false, refusals: [{ rule: 'r', message: 'the node is full' }], score: 0 }],
  },
};

let server: Server;
let url: string;
beforeAll(async () => {
  server = createServer((request, response) => {
    const document = request.method === 'GET' ? DOCUMENTS[request.url ?? ''] : undefined;
    const status = document ? 200 : request.method === 'GET' ? 404 : 405;
    response.writeHead(status).end(JSON.stringify(document ?? { status, detail: 'Only GET is served here' }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => server.close());

async function run(args: readonly string[], console = url): Promise<{ text: string; exitCode: number | undefined }> {
  let text = '';
  let exitCode: number | undefined;
  const program = createProgram({
    terminal: { columns: 80, colors: false },
    streams: {
      print: (more) => {
        text += more;
      },
      note: () => {},
    },
    name: 'kubectl rollcall',
    signal: new AbortController().signal,
    onExit: (code) => {
      exitCode = code;
    },
  });
  const flags = ['--kubeconfig=/nonexistent', `--console-url=${console}`];
  await program.parseAsync(['node', 'kubectl-rollcall', ...args, ...flags]);
  return { text, exitCode };
}

test.each<[string, string[], number, RegExp]>([
  [
    'status',
    ['status', '-o', 'wide'],
    1,
    /^NOT all nodes are as rollcall wants them \(2 nodes\): 1 failure; 1 warning\.\n/,
  ],
  ['why-node', ['why', 'node/node-2'], 1, /^node\/node-2: ws-daemon is not ready: tcp 10\.0\.0\.7:8080 refused/],
  ['why-pod', ['why', 'pod/default/ws-1'], 1, /^pod\/default\/ws-1 may run on none of 1 node\.\n/],
])('%s of an older coordinator is what it can say', async (name, args, code, first) => {
  const { text, exitCode } = await run(args);
  expect(text).toMatch(first);
  expect(exitCode).toBe(code);
  await expect(text).toMatchFileSnapshot(`testing/golden/older-${name}.txt`);
});

test.each([
  ['audit', ['audit'], 'This coordinator has no truth ledger'],
  [
    'diff',
    ['diff', '-f', import.meta.filename.replace('src/older.test.ts', 'package.json')],
    'This coordinator is too old for this command',
  ],
])('%s is more than an older coordinator can do', async (_name, args, message) => {
  await expect(run(args)).rejects.toMatchObject({ message, cure: 'update rollcall: helm upgrade', exitCode: 3 });
});

test('check refuses the address of a console, which it does not ask', async () => {
  await expect(run(['check'])).rejects.toMatchObject({
    message: 'check reads the API server only, and not a console',
    cure: expect.stringContaining('leave out --console-url'),
    exitCode: 2,
  });
});

test('something else that answers is told from a console', async () => {
  const other = createServer((_request, response) => response.end('<html>'));
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
  const asked = run(['status'], `http://127.0.0.1:${(other.address() as AddressInfo).port}`);
  await expect(asked).rejects.toMatchObject({ message: 'The answer does not come from a console of rollcall' });
  other.close();
});
