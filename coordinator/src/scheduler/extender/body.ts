import { type ExtenderResponse, type Question, refuse } from './response.ts';

const JSON_TYPE = /^application\/json[ \t]*(;[ \t]*charset=("?)utf-8\2[ \t]*)?$/i;

/** How many bytes of requests are in memory, and how many may be. */
export class BodyBudget {
  /** The limit for one request. */
  readonly bytesMax: number;
  readonly #totalMax: number;
  #taken = 0;

  constructor(limits: { bytesMax: number; totalMax: number }) {
    this.bytesMax = limits.bytesMax;
    this.#totalMax = limits.totalMax;
  }

  take(bytes: number): boolean {
    if (this.#taken + bytes > this.#totalMax) return false;
    this.#taken += bytes;
    return true;
  }

  give(bytes: number): void {
    this.#taken -= bytes;
  }
}

/**
 * The whole body of a request, or the refusal that it gets: 415 for what is not plain JSON, 413 for too much, 503 while
 * others take up the budget, 408 when time is up. What has come counts, and not what was said to come; it is given back
 * when the request is closed.
 */
export async function readBody(question: Question, budget: BodyBudget): Promise<Buffer | ExtenderResponse> {
  const { request, signal } = question;
  const { 'content-type': type, 'content-encoding': encoding, 'content-length': length } = request.headers;
  if (type === undefined || !JSON_TYPE.test(type)) return refuse(415, 'The request must be application/json in UTF-8');
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
    return refuse(415, 'The request must not have a content encoding');
  }
  const tooLarge = refuse(
    413,
    `The request must have at most ${budget.bytesMax} bytes; kube-scheduler sends names only with nodeCacheCapable: true`,
  );
  if (Number(length) > budget.bytesMax) return tooLarge;
  let bytes = 0;
  question.onClosed(() => budget.give(bytes));
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    const finish = (result: Buffer | ExtenderResponse) => {
      request.removeListener('data', onData);
      resolve(result);
    };
    const onData = (chunk: Buffer) => {
      if (bytes + chunk.length > budget.bytesMax) return finish(tooLarge);
      if (!budget.take(chunk.length)) return finish(refuse(503, 'There are too many requests at once'));
      bytes += chunk.length;
      chunks.push(chunk);
    };
    const giveUp = () => finish(refuse(408, 'The body of the request did not arrive in time'));
    request.on('data', onData);
    request.once('end', () => finish(Buffer.concat(chunks)));
    request.once('error', giveUp);
    signal.addEventListener('abort', giveUp, { once: true });
    if (signal.aborted) giveUp();
  });
}
