import { type ClientRequest, get, type IncomingMessage } from 'node:http';
import { answerQuestions } from './helper.ts';

/** What this process is asked: to begin to read a console, and to end and say what it was told. */
export type ReadersQuestion =
  | { ask: 'begin'; consoleUrl: string; streams: number; statusEveryMs: number }
  | { ask: 'end' };

/** `events`: over all streams. `slowestMs`: of the documents, from question to last byte. */
export type ReadersResult = { events: number; documents: number; failed: number; slowestMs: number };

const result: ReadersResult = { events: 0, documents: 0, failed: 0, slowestMs: 0 };
const streams: ClientRequest[] = [];
let timer: NodeJS.Timeout | undefined;

answerQuestions<ReadersQuestion, ReadersResult>(async (question) => {
  if (question.ask === 'end') {
    clearInterval(timer);
    for (const stream of streams) stream.destroy();
    return result;
  }
  const { consoleUrl, statusEveryMs } = question;
  const url = (path: string) => new URL(path, consoleUrl);
  await Promise.all(Array.from({ length: question.streams }, () => follow(url('/v1/stream'))));
  timer = setInterval(() => void readDocument(url('/v1/nodes')), statusEveryMs);
  return result;
});

function follow(url: URL): Promise<void> {
  return new Promise((resolve, reject) => {
    const request = get(url, { agent: false }, (response) => {
      response.setEncoding('utf8').on('data', (text: string) => {
        result.events += text.split('\nevent: ').length - 1;
      });
      response.once('error', () => {});
      resolve();
    });
    streams.push(request.on('error', reject));
  });
}

/** What `kubectl rollcall status` asks for. */
async function readDocument(url: URL): Promise<void> {
  const beganMs = performance.now();
  try {
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      get(url, { agent: false }, resolve).once('error', reject);
    });
    for await (const _chunk of response);
    result.documents += 1;
    result.slowestMs = Math.max(result.slowestMs, performance.now() - beganMs);
  } catch {
    result.failed += 1;
  }
}
