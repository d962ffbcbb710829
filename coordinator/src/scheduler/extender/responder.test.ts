import type { IncomingMessage } from 'node:http';
import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { readPod, workspaceJson } from './extender.test-fixtures.ts';
import { createResponder } from './responder.ts';
import type { Question, Verb } from './response.ts';

function asking(verb: Verb, signal: AbortSignal, body: object): Question {
  const request = Object.assign(new PassThrough(), { headers: { 'content-type': 'application/json' } });
  request.end(JSON.stringify(body));
  return { verb, path: '/', signal, onClosed: () => {}, request: request as unknown as IncomingMessage };
}

test('a question whose scheduler has gone is read no further, and not answered', async () => {
  const gone = new AbortController();
  let asked = 0;
  const verdicts = () => {
    asked += 1;
    return [];
  };
  const respond = createResponder({
    handler: { filter: verdicts, prioritize: verdicts, predicate: verdicts },
    readPod: (pod) => {
      // It goes once its question has come whole, and before that is read.
      gone.abort();
      return readPod(pod);
    },
    leader: () => undefined,
    metrics: { verdicts: () => {} },
  });
  const answer = respond(asking('filter', gone.signal, { Pod: workspaceJson(), NodeNames: ['n'] }));
  await expect(answer).rejects.toMatchObject({ name: 'AbortError' });
  expect(asked).toBe(0);
});

test.each([
  ['filter', 'a workspace', workspaceJson(), ['arrival', 'answer']],
  ['prioritize', 'a workspace', workspaceJson(), ['arrival', 'answer']],
  ['predicates', 'a workspace', workspaceJson(), ['answer']],
  ['filter', 'another pod', {}, ['answer']],
] as const)(
  'an answer that is kept in mind waits until its pod is seen: to %s about %s',
  async (verb, _what, Pod, expected) => {
    const seen: string[] = [];
    const answer = () => {
      seen.push('answer');
      return [];
    };
    const respond = createResponder({
      handler: { filter: answer, prioritize: answer, predicate: answer },
      readPod,
      arrival: async () => {
        await new Promise((resolve) => setImmediate(resolve));
        seen.push('arrival');
      },
      leader: () => undefined,
      metrics: { verdicts: () => {} },
    });
    await respond(asking(verb, new AbortController().signal, { Pod, NodeNames: ['n'] }));
    expect(seen).toEqual(expected);
  },
);
