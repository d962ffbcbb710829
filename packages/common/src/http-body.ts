import type { IncomingMessage } from 'node:http';

const JSON_TYPE = /^application\/json[ \t]*(;[ \t]*charset=("?)utf-8\2[ \t]*)?$/i;

/** Why a body is not read. The message is for the client. */
export class BodyRefusal extends Error {
  readonly status: 411 | 413 | 415 | 503;

  constructor(status: BodyRefusal['status'], message: string) {
    super(message);
    this.name = 'BodyRefusal';
    this.status = status;
  }
}

/** Thrown when the client is gone or the time is over, so that no more of the body arrives. */
export class ClientGoneError extends Error {
  constructor() {
    super('The client closed the connection');
    this.name = 'ClientGoneError';
  }
}

export type BodyLimits = {
  /** What a body is, for the client: `A report`. */
  what: string;
  /** The largest body in bytes. */
  bytesMax: () => number;
  /** Bytes of all bodies that are read and not answered yet; unlimited by default. */
  totalMax?: number;
};

/**
 * Reads the bodies of a listener: plain JSON whose length is known in advance. A chunked body could have chunks of one byte
 * each, which cost much more than what they carry.
 */
export class BodyReader {
  readonly #limits: BodyLimits;
  #taken = 0;

  constructor(limits: BodyLimits) {
    this.#limits = limits;
  }

  /** Throws BodyRefusal: 415 for a body that is not plain JSON, 411 without its length, 413 if that is too large. */
  check({ headers }: Pick<IncomingMessage, 'headers'>): void {
    const { what } = this.#limits;
    const { 'content-type': type, 'content-encoding': encoding, 'content-length': length } = headers;
    if (type === undefined || !JSON_TYPE.test(type)) {
      throw new BodyRefusal(415, `${what} must be application/json in UTF-8`);
    }
    if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
      throw new BodyRefusal(415, `${what} must not have a content encoding`);
    }
    if (length === undefined) throw new BodyRefusal(411, `${what} must have a Content-Length`);
    const bytesMax = this.#limits.bytesMax();
    if (Number(length) > bytesMax) throw new BodyRefusal(413, `${what} must have at most ${bytesMax} bytes`);
  }

  /**
   * Returns the whole body of a request that {@link check} accepted. What has arrived counts, and not what was said to come,
   * until `closed` is called. Rejects with BodyRefusal (503) while others take up the total, and with ClientGoneError.
   */
  read(request: IncomingMessage, signal?: AbortSignal): Promise<{ body: Buffer; closed: () => void }> {
    const { what, totalMax = Number.POSITIVE_INFINITY } = this.#limits;
    const length = Number(request.headers['content-length']);
    let taken = 0;
    const closed = () => {
      this.#taken -= taken;
      taken = 0;
    };
    return new Promise((resolve, reject) => {
      let body: Buffer | undefined;
      let bytes = 0;
      const fail = (error: Error) => {
        request.removeListener('data', take);
        closed();
        reject(error);
      };
      const take = (chunk: Buffer) => {
        if (this.#taken + chunk.length > totalMax) {
          return fail(new BodyRefusal(503, `${what} finds too many others at once`));
        }
        this.#taken += chunk.length;
        taken += chunk.length;
        body = joined(body, bytes, chunk, length);
        bytes += chunk.length;
      };
      // It is also told when all is well, and an error is not made for nothing ten thousand times a second.
      const leave = () => {
        if (!request.readableEnded) fail(new ClientGoneError());
      };
      if (request.destroyed || signal?.aborted) return leave();
      request.on('data', take);
      request.on('error', leave);
      request.on('close', leave);
      signal?.addEventListener('abort', leave, { once: true });
      request.on('end', () => resolve({ body: body?.subarray(0, bytes) ?? Buffer.alloc(0), closed }));
    });
  }
}

/**
 * Returns the whole body of an answer as text. Destroys an answer of more than `bytesMax`, and rejects with `tooLarge`. By
 * events: to iterate over a stream takes a tenth of the CPU of a request.
 */
export function readAnswer(
  answer: IncomingMessage,
  bytesMax: number,
  tooLarge: (problem: string) => Error = (problem) => new Error(problem),
): Promise<string> {
  return new Promise((resolve, reject) => {
    let body: Buffer | undefined;
    let bytes = 0;
    answer.on('data', (chunk: Buffer) => {
      if (bytes + chunk.length > bytesMax) {
        answer.destroy(tooLarge(`The answer is larger than ${bytesMax} bytes`));
        return;
      }
      body = joined(body, bytes, chunk, bytesMax);
      bytes += chunk.length;
    });
    answer.on('error', reject);
    answer.on('end', () => resolve(body?.toString('utf8', 0, bytes) ?? ''));
    answer.on('close', () => answer.readableEnded || reject(new Error('The answer ended before it was complete')));
  });
}

/** Adds a chunk to what has arrived. Nearly every body arrives in one piece; else the memory for it doubles as it grows. */
function joined(body: Buffer | undefined, bytes: number, chunk: Buffer, length: number): Buffer {
  if (!body) return chunk;
  let room = body;
  if (bytes + chunk.length > body.length) {
    room = Buffer.allocUnsafeSlow(Math.max(Math.min(length, 2 * body.length), bytes + chunk.length));
    body.copy(room, 0, 0, bytes);
  }
  chunk.copy(room, bytes);
  return room;
}
