import type { IncomingMessage } from 'node:http';
import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { readPod, workspaceJson } from './extender.test-fixtures.ts';
import { createResponder } from './responder.ts';
import type { Question, Verb } from './response.ts';

function asking(verb: Verb, signal: AbortSignal, body: object | string): Question {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const headers = { 'content-type': 'application/json', 'content-length': String(text.length) };
  const request = Object.assign(new PassThrough(), { headers });
  request.end(text);
  return { verb, path: '/', signal, onClosed: () => {}, request: request as unknown as IncomingMessage };
}

test.each([
  ['filter', 'a workspace', workspaceJson(), ['arrival', 'answer']],
  ['prioritize', 'a workspace', workspaceJson(), ['answer']],
  ['preempt', 'a workspace', workspaceJson(), ['answer']],
  ['predicates', 'a workspace', workspaceJson(), ['answer']],
  ['filter', 'another pod', {}, ['answer']],
] as const)(
  'only the first answer about a pod waits until it is seen: to %s about %s',
  async (verb, _what, Pod, expected) => {
    const seen: string[] = [];
    const answer = () => {
      seen.push('answer');
      return [];
    };
    const respond = createResponder({
      handler: { filter: answer, prioritize: answer, preempt: answer, predicate: answer },
      readPod,
      arrival: async () => {
        await new Promise((resolve) => setImmediate(resolve));
        seen.push('arrival');
      },
      nodes: () => 10,
      leader: () => undefined,
      metrics: { verdicts: () => {} },
    });
    await respond(asking(verb, new AbortController().signal, { Pod, NodeNames: ['n'], NodeNameToMetaVictims: {} }));
    expect(seen).toEqual(expected);
  },
);

const ITEMS = { items: [{ metadata: { name: 'n' } }] };

test.each([
  ['filter', { Nodes: ITEMS }],
  ['prioritize', { Nodes: ITEMS }],
  ['preempt', { NodeNameToVictims: { n: { Pods: [] } } }],
] as const)('%s of whole objects is refused with what is to be set, also for other pods', async (verb, whole) => {
  const never = () => {
    throw new Error('This is not to be asked');
  };
  const respond = createResponder({
    handler: { filter: never, prioritize: never, preempt: never, predicate: never },
    readPod,
    nodes: () => 10,
    leader: never,
    metrics: { verdicts: () => {} },
  });
  for (const Pod of [workspaceJson(), {}]) {
    const answer = await respond(asking(verb, new AbortController().signal, { Pod, ...whole }));
    expect(answer.status).toBe(400);
    expect(String(answer.body)).toContain(`${verb} only with nodeCacheCapable: true`);
  }
});

test('a node comes back however deeply it is nested', async () => {
  const pass = () => [undefined];
  const respond = createResponder({
    handler: { filter: pass, prioritize: () => [0], preempt: () => [], predicate: pass },
    readPod,
    nodes: () => 10,
    leader: () => undefined,
    metrics: { verdicts: () => {} },
  });
  const items = `[{"deep":${'['.repeat(100_000)}${']'.repeat(100_000)}}]`;
  const text = `{"Pod":{},"Nodes":{"items":${items}}}`;
  const { status, body } = await respond(asking('predicates', new AbortController().signal, text));
  expect([status, String(body).includes(items)]).toEqual([200, true]);
});
