import type { IncomingMessage } from 'node:http';
import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { readPod, workspaceJson } from './extender.test-fixtures.ts';
import { createResponder } from './responder.ts';

test('a question whose scheduler has gone is read no further, and costs nobody an answer', async () => {
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
  const request = Object.assign(new PassThrough(), { headers: { 'content-type': 'application/json' } });
  request.end(JSON.stringify({ Pod: workspaceJson(), NodeNames: ['n'] }));
  const question = { verb: 'filter', path: '/', signal: gone.signal, onClosed: () => {} } as const;
  const answer = respond({ ...question, request: request as unknown as IncomingMessage });
  await expect(answer).rejects.toMatchObject({ name: 'AbortError' });
  expect(asked).toBe(0);
});
