import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { KubeConfig } from '@kubernetes/client-node';
import { onTestFinished } from 'vitest';
import { KubeApi } from '../cluster/kube-api.ts';

/** Another answer than 200: with `body` as it is, or a message. */
export class Status {
  readonly status: number;
  readonly body: string;

  constructor(status: number, body = JSON.stringify({ message: `it is a ${status}` })) {
    this.status = status;
    this.body = body;
  }
}

export type Asked = { method: string; path: string; body: unknown; headers: Readonly<Record<string, unknown>> };

/** By method and path, as in `POST /v1/diff`; GET may be left out, and so may the query. A function is called each time. */
export type Answers = Readonly<Record<string, unknown>>;

export type StandIn = { url: string; server: Server; asked: Asked[] };

/** Answers on loopback until the test ends; what it knows nothing of is a 404. */
export async function standIn(answers: Answers): Promise<StandIn> {
  const asked: Asked[] = [];
  const server = createServer(async (request, response) => {
    const { method = '', url: path = '', headers } = request;
    const text = (await request.toArray()).join('');
    const one: Asked = { method, path, body: text === '' ? undefined : JSON.parse(text), headers };
    asked.push(one);
    const [bare = ''] = path.split('?');
    const names = [path, bare].flatMap((each) => [`${method} ${each}`, ...(method === 'GET' ? [each] : [])]);
    const name = names.find((each) => each in answers);
    const found = name === undefined ? new Status(404) : answers[name];
    const answer: unknown = typeof found === 'function' ? found(one) : found;
    if (answer instanceof Status) response.writeHead(answer.status).end(answer.body);
    else response.end(JSON.stringify(answer));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, server, asked };
}

/** The same in place of an API server. */
export async function kubeStandIn(answers: Answers): Promise<StandIn & { kube: KubeApi; config: KubeConfig }> {
  const found = await standIn(answers);
  const config = kubeConfigFor(found.url);
  return { ...found, config, kube: new KubeApi(config) };
}

export function kubeConfigFor(server: string): KubeConfig {
  const config = new KubeConfig();
  config.loadFromString(JSON.stringify(kubeConfigDocument(server)));
  return config;
}

export function kubeConfigDocument(server: string): object {
  return {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'c', cluster: { server, 'insecure-skip-tls-verify': true } }],
    users: [{ name: 'u', user: { token: 'secret' } }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'x',
  };
}
