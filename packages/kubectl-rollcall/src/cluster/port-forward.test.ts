import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { kubeConfigFor, kubeStandIn, Status } from '../testing/stand-in.test-fixtures.ts';
import { takeWebSockets, type WebSocketEnd } from '../testing/web-socket.test-fixtures.ts';
import { forwardPort } from './port-forward.ts';

const TARGET = { namespace: 'ns', pod: 'c-1', port: 8090 };
const PORT_NUMBER = Buffer.of(0x9a, 0x1f);

/** A connection to a port that is forwarded, with both of its ends. */
async function forwarded() {
  const { config, server } = await kubeStandIn({});
  const opened = Promise.withResolvers<WebSocketEnd>();
  takeWebSockets(server, opened.resolve);
  const errors: string[] = [];
  const forward = await forwardPort(config, TARGET, { onError: (reason) => errors.push(reason) });
  onTestFinished(forward.close);
  const client = connectTo(forward.url);
  const pod = await opened.promise;
  // Each stream begins with the number of the port.
  for (const stream of [0, 1]) pod.send(stream, PORT_NUMBER);
  return { ...forward, client, pod, errors };
}

type Client = { socket: Socket; text: () => string; isClosed: () => boolean };

function connectTo(url: string): Client {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  let text = '';
  let isClosed = false;
  socket.on('data', (data) => {
    text += String(data);
  });
  socket.on('error', () => {});
  socket.once('close', () => {
    isClosed = true;
  });
  onTestFinished(() => void socket.destroy());
  return { socket, text: () => text, isClosed: () => isClosed };
}

test('a port that is taken is named, with what helps', async () => {
  const taken = createServer();
  await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
  const { port } = taken.address() as AddressInfo;
  const config = kubeConfigFor('https://127.0.0.1:1');
  await expect(forwardPort(config, TARGET, { port, onError: () => {} })).rejects.toMatchObject({
    message: expect.stringContaining(`Cannot listen on port ${port}: `),
    cure: expect.stringContaining('choose another --port'),
  });
  taken.close();
});

test('a connection is passed on to the port of the pod, both ways', async () => {
  const { url, client, pod, errors } = await forwarded();
  expect(url).toMatch(/^http:\/\/127\.0\.0\.1:[1-9]\d*$/);
  expect(pod.path).toBe('/api/v1/namespaces/ns/pods/c-1/portforward?ports=8090');
  client.socket.write('question');
  await expect.poll(() => Buffer.concat(pod.received).toString()).toBe('\0question');
  pod.send(0, 'answer');
  await expect.poll(client.text).toBe('answer');
  expect(errors).toEqual([]);
});

test('an error of the pod is told, and ends the connection', async () => {
  const { client, pod, errors } = await forwarded();
  pod.send(1, 'connection refused');
  await expect.poll(client.isClosed).toBe(true);
  expect(errors).toEqual(['connection refused']);
});

test('the connection ends when the API server closes it', async () => {
  const { client, pod, errors } = await forwarded();
  client.socket.write('question');
  await expect.poll(() => pod.received.length).toBe(1);
  pod.close();
  await expect.poll(client.isClosed).toBe(true);
  expect(errors).toEqual([]);
});

test('the API server is left when the connection ends', async () => {
  const { client, pod } = await forwarded();
  client.socket.write('question');
  await expect.poll(() => pod.received.length).toBe(1);
  client.socket.resetAndDestroy();
  await expect.poll(() => pod.isClosed).toBe(true);
});

test('why the API server does not pass it on is told, and ends the connection', async () => {
  const { config } = await kubeStandIn({ '/api/v1/namespaces/ns/pods/c-1/portforward': new Status(403) });
  const errors: string[] = [];
  const { url, close } = await forwardPort(config, TARGET, { onError: (reason) => errors.push(reason) });
  onTestFinished(close);
  const client = connectTo(url);
  await expect.poll(client.isClosed).toBe(true);
  expect(errors).toEqual(['Unexpected server response: 403']);
});

test('closing it ends its connections and takes no more', async () => {
  const { url, client, close } = await forwarded();
  close();
  await expect.poll(client.isClosed).toBe(true);
  const late = connectTo(url);
  await expect.poll(late.isClosed).toBe(true);
  expect(late.socket.bytesRead).toBe(0);
});
