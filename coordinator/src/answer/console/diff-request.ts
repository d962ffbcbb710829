import type { IncomingMessage } from 'node:http';
import type { DiffRequest } from '@rollcall/common/console.ts';
import { z } from 'zod';

const BODY_BYTES_MAX = 1024 * 1024;

const SCHEMA = z.object({
  objects: z.array(z.looseObject({ kind: z.string() })).max(1000),
  rules: z.record(z.string(), z.string()),
});

/**
 * Reads what is asked of `POST /v1/diff`. What is no JSON by its type is refused: a web page of another origin may send
 * anything else without being asked whether it may.
 */
export async function readDiffRequest(
  request: IncomingMessage,
): Promise<{ request: DiffRequest } | { status: number; problem: string }> {
  if (!/^application\/json(;|$)/.test(request.headers['content-type'] ?? '')) {
    return { status: 415, problem: 'Send application/json' };
  }
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > BODY_BYTES_MAX)
      return { status: 413, problem: `The request must have at most ${BODY_BYTES_MAX} bytes` };
    chunks.push(chunk);
  }
  try {
    return { request: SCHEMA.parse(JSON.parse(Buffer.concat(chunks).toString())) };
  } catch (error) {
    const reason = error instanceof z.ZodError ? z.prettifyError(error) : 'it is not JSON';
    return { status: 400, problem: `The proposed change is not valid: ${reason}` };
  }
}
