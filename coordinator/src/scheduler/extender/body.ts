import { type ExtenderResponse, type Question, refuse } from './response.ts';

const JSON_TYPE = /^application\/json[ \t]*(;[ \t]*charset=("?)utf-8\2[ \t]*)?$/i;

/** How much of questions is in memory, and how much may be. */
export class BodyBudget {
  /** The limit for one question. */
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
 * The whole body of a question, or the refusal that it gets: 415 for what is not plain JSON, 413 for too much, 503 while
 * others take up the budget, 408 when time is up. What has come counts, and not what was said to come. It is given back
 * when the question is closed, since the answer may consist of parts of the body.
 */
export function readBody(question: Question, budget: BodyBudget): Promise<Buffer | ExtenderResponse> {
  const { request, signal } = question;
  const { 'content-type': type, 'content-encoding': encoding, 'content-length': length } = request.headers;
  if (type === undefined || !JSON_TYPE.test(type)) return refused(415, 'The request must be application/json in UTF-8');
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
    return refused(415, 'The request must not have a content encoding');
  }
  const declared = length === undefined ? undefined : Number(length);
  if (declared !== undefined && declared > budget.bytesMax) return refused(413, tooLarge(budget));
  let taken = 0;
  question.onClosed(() => budget.give(taken));
  const take = (bytes: number): boolean => {
    if (!budget.take(bytes)) return false;
    taken += bytes;
    return true;
  };
  return new Promise((resolve) => {
    const collected = new Collector(declared);
    const finish = (result: Buffer | ExtenderResponse) => {
      request.removeListener('data', onData);
      resolve(result);
    };
    const onData = (chunk: Buffer) => {
      if (collected.bytes + chunk.length > budget.bytesMax) finish(refuse(413, tooLarge(budget)));
      else if (!take(chunk.length)) finish(refuse(503, BUSY));
      else collected.add(chunk);
    };
    const giveUp = () => finish(refuse(408, 'The body of the request did not arrive in time'));
    request.on('data', onData);
    request.once('end', () => finish(collected.whole()));
    request.once('error', giveUp);
    signal.addEventListener('abort', giveUp, { once: true });
    if (signal.aborted) giveUp();
  });
}

const BUSY = 'There are too many requests at once';

function tooLarge({ bytesMax }: BodyBudget): string {
  return `The request must have at most ${bytesMax} bytes`;
}

function refused(status: 413 | 415, detail: string): Promise<ExtenderResponse> {
  return Promise.resolve(refuse(status, detail));
}

/** So much has to come before memory is set aside for what is said to come. */
const EARNEST_BYTES = 1024 * 1024;

/** Puts chunks together; what is large and of known size early on, so that it does not exist twice. */
class Collector {
  bytes = 0;
  readonly #declared: number | undefined;
  #whole: Buffer | undefined;
  #chunks: Buffer[] = [];

  constructor(declared: number | undefined) {
    this.#declared = declared;
  }

  add(chunk: Buffer): void {
    if (this.#whole) chunk.copy(this.#whole, this.bytes);
    else this.#chunks.push(chunk);
    this.bytes += chunk.length;
    if (!this.#whole && this.#declared !== undefined && this.bytes >= EARNEST_BYTES) this.#setAside(this.#declared);
  }

  #setAside(declared: number): void {
    this.#whole = Buffer.allocUnsafe(declared);
    let at = 0;
    for (const chunk of this.#chunks) at += chunk.copy(this.#whole, at);
    this.#chunks = [];
  }

  whole(): Buffer {
    return this.#whole?.subarray(0, this.bytes) ?? Buffer.concat(this.#chunks, this.bytes);
  }
}
