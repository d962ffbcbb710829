import { type IncomingHttpHeaders, request } from 'node:http';

export type Asked = { method?: string; headers?: Record<string, string>; body?: string };
export type Answered = { status: number; headers: IncomingHttpHeaders; text: string };

/** Asks a server on loopback, over a connection of its own. Rejects where the answer breaks off. */
export function ask(port: number, path: string, { method = 'GET', headers = {}, body }: Asked = {}): Promise<Answered> {
  return new Promise((resolve, reject) => {
    const outgoing = request({ host: '127.0.0.1', port, path, method, headers, agent: false });
    outgoing.once('error', reject);
    outgoing.once('response', (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => {
        text += chunk;
      });
      response.once('error', reject);
      response.once('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, text }));
    });
    outgoing.end(body);
  });
}
