import { type RequestOptions, request } from 'node:https';
import { nodeHttp } from '@rollcall/common/http-server.ts';

const ANSWER_BYTES_MAX = 256 * 1024 * 1024;

/** `timeoutMs`: for how long nothing may come. `body`: JSON. */
export type ExchangeOptions = RequestOptions & { timeoutMs: number; body?: string | undefined };

/** `date`: what the server's clock said, `undefined` where the answer does not tell. */
export type Answer = { status: number; text: string; date: string | undefined };

/** Asks once. Rejects where no answer comes, or one that is too large. */
export function exchange(url: URL, { timeoutMs, body, ...options }: ExchangeOptions): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sender = url.protocol === 'http:' ? nodeHttp().request : request;
    const headers = { ...options.headers, ...(body === undefined ? {} : { 'content-type': 'application/json' }) };
    const outgoing = sender(url, { ...options, headers, timeout: timeoutMs }, (response) => {
      const chunks: Buffer[] = [];
      let bytes = 0;
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes > ANSWER_BYTES_MAX) outgoing.destroy(new Error('The answer is too large'));
        else chunks.push(chunk);
      });
      response.once('end', () => {
        const { statusCode: status = 0, headers: answered } = response;
        resolve({ status, text: Buffer.concat(chunks).toString(), date: answered.date });
      });
      response.once('error', reject);
    });
    outgoing.once('timeout', () =>
      outgoing.destroy(new Error(`${url.host} did not answer within ${timeoutMs / 1000} s`)),
    );
    outgoing.once('error', reject);
    outgoing.end(body);
  });
}
