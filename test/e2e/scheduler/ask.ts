import { request } from 'node:http';

/** Posts a question to an extender on loopback, as kube-scheduler does. `body` is JSON, or text as it is. */
export function ask(port: number, verb: string, body: unknown): Promise<{ status: number; body: string }> {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return new Promise((resolve, reject) => {
    const options = { method: 'POST', headers: { 'content-type': 'application/json' }, agent: false as const };
    const outgoing = request(`http://127.0.0.1:${port}/scheduler/${verb}`, options, (response) => {
      const pieces: Buffer[] = [];
      response.on('data', (piece: Buffer) => pieces.push(piece));
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body: Buffer.concat(pieces).toString() }));
      response.on('error', reject);
    });
    outgoing.on('error', reject);
    outgoing.end(text);
  });
}
