import { type RequestOptions, request } from 'node:https';
import { readAnswer } from '@rollcall/common/http-body.ts';
import { nodeHttp } from '@rollcall/common/http-server.ts';

const ANSWER_BYTES_MAX = 256 * 1024 * 1024;

/** `timeoutMs`: for how long nothing may come. `body`: JSON, unless the headers name another type. */
export type ExchangeOptions = RequestOptions & { timeoutMs: number; body?: string | undefined };

/** `date`: what the server's clock said, `undefined` where the answer does not tell. */
export type Answer = { status: number; text: string; date: string | undefined };

/** Asks once. Rejects where no answer comes, or one that is too large. */
export function exchange(url: URL, { timeoutMs, body, ...options }: ExchangeOptions): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sender = url.protocol === 'http:' ? nodeHttp().request : request;
    const headers = { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...options.headers };
    const outgoing = sender(url, { ...options, headers, timeout: timeoutMs }, (response) => {
      const { statusCode: status = 0, headers: answered } = response;
      readAnswer(response, ANSWER_BYTES_MAX)
        .then((text) => resolve({ status, text, date: answered.date }))
        .catch(reject);
    });
    outgoing.once('timeout', () =>
      outgoing.destroy(new Error(`${url.host} did not answer within ${timeoutMs / 1000} s`)),
    );
    outgoing.once('error', reject);
    outgoing.end(body);
  });
}
