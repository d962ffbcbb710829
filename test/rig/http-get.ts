import { type IncomingHttpHeaders, request } from 'node:http';

export type Answer = { status: number; body: string; headers: IncomingHttpHeaders };

/** A GET of a plain HTTP endpoint. Rejects when there is no answer within 5 s. */
export function httpGet(url: string): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const outgoing = request(url, { timeout: 5000, agent: false }, (response) => {
      let body = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => {
        body += chunk;
      });
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body, headers: response.headers }));
      response.on('error', reject);
    });
    outgoing.on('timeout', () => outgoing.destroy(new Error(`no answer from ${url}`)));
    outgoing.on('error', reject);
    outgoing.end();
  });
}
