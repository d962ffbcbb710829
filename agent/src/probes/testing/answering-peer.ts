import { createServer, type Socket } from 'node:net';
import { parentPort } from 'node:worker_threads';

/** A server in a thread of its own, which answers each connection with the bytes of the last message, all at once or one by one. */
let answer: { bytes: Uint8Array; isSlow: boolean } = { bytes: new Uint8Array(0), isSlow: false };
parentPort?.on('message', (next: typeof answer) => {
  answer = next;
  parentPort?.postMessage('set');
});

const server = createServer((socket) => {
  socket.setNoDelay(true).on('error', () => {});
  const { bytes, isSlow } = answer;
  const reply = () => void (isSlow ? drip(socket, bytes) : socket.write(bytes));
  socket.once('data', reply);
  // A probe that says nothing is answered as well.
  setTimeout(() => socket.bytesRead === 0 && reply(), 20).unref();
});
server.listen(0, '127.0.0.1', () => {
  const bound = server.address();
  parentPort?.postMessage(typeof bound === 'object' && bound ? bound.port : 0);
});

async function drip(socket: Socket, bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.length && !socket.destroyed; at += 1) {
    socket.write(bytes.subarray(at, at + 1));
    await new Promise((resolve) => setImmediate(resolve));
  }
}
