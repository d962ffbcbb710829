import { readFileSync } from 'node:fs';
import { createServer as createHttp, type RequestListener } from 'node:http';
import { createServer as createHttps } from 'node:https';
import type { AddressInfo } from 'node:net';
import { parseArgs } from 'node:util';

/**
 * The least that a server in Node.js can do with a request: its body is read whole and parsed as JSON, and an answer of
 * a length that is told is sent back. With `--cert` and `--key` by HTTPS. Prints its port; ends with its input.
 */
const { values } = parseArgs({
  options: { cert: { type: 'string' }, key: { type: 'string' }, 'reply-bytes': { type: 'string', default: '2' } },
});
const answer = Buffer.from(JSON.stringify('x'.repeat(Number(values['reply-bytes']) - 2)));
const headers = { 'content-type': 'application/json', 'content-length': answer.length };

const listener: RequestListener = (request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    JSON.parse(Buffer.concat(chunks).toString('utf8'));
    response.writeHead(200, headers);
    response.end(answer);
  });
};
const { cert, key } = values;
const server =
  cert && key ? createHttps({ cert: readFileSync(cert), key: readFileSync(key) }, listener) : createHttp(listener);
server.listen(0, '127.0.0.1', () => process.stdout.write(`${(server.address() as AddressInfo).port}\n`));
process.stdin.resume().once('end', () => process.exit());
