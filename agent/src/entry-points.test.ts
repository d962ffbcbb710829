import { createServer } from 'node:http';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { REPLY_BYTES_MAX } from '@rollcall/common/well-known.ts';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { parseFacts } from './facts/parse-facts.ts';
import { takeFeatures } from './facts/parse-features.ts';
import { parseResolvConf } from './host-lookup.ts';
import { deviceOf, parseMountinfo } from './path-turns.ts';
import { decodeHeaders, FIELD_LIST_BYTES_MAX } from './probes/hpack.ts';
import { encodeFrame, FLAG, FRAME } from './probes/http2-frames.ts';
import { PROBES } from './probes/kinds.ts';
import { decodeFields } from './probes/protobuf.ts';
import { openLineFor, probeOf } from './probes/testing/ask-once.ts';
import { within } from './probes/testing/limits.ts';
import { listenOnLoopback } from './probes/testing/servers.ts';
import { post } from './report/http-post.ts';
import { parseReply, problemDetail } from './report/reply.ts';

/**
 * Everything by which bytes of others come into the agent. The largest input of each shape costs a multiple of what
 * `JSON.parse` takes for as many bytes in the same run, and what a round may take in any case.
 */

/** In slices of which none may hold the event loop for longer; measured on a machine that others use, too. */
const ROUND_MS = 50;

/** Of `JSON.parse`; parsers of lines and of bits do more for a byte. */
const MULTIPLE = 30;

/** CPU time of this thread for `work`, from many runs: the kernel counts it in ticks of some milliseconds. */
function spentMs(work: () => void): number {
  const startMs = performance.now();
  const before = process.threadCpuUsage();
  let runs = 0;
  for (; runs < 3 || performance.now() - startMs < 60; runs += 1) work();
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1000 / runs;
}

/** Milliseconds of `JSON.parse` for so many bytes of small objects. */
function parseMs(bytes: number): number {
  const text = JSON.stringify(
    Array.from({ length: Math.ceil(bytes / 24) }, (_, index) => ({ name: `a${index}`, is: true })),
  );
  return spentMs(() => void JSON.parse(text)) * (bytes / text.length);
}

function repeated(piece: string | Buffer, bytes: number): Buffer {
  return Buffer.alloc(bytes, piece);
}

const REPLIES: Readonly<Record<string, string>> = {
  'one long text': JSON.stringify({ full: 'x'.repeat(REPLY_BYTES_MAX - 20) }),
  'many services': JSON.stringify({
    services: Array.from({ length: 12_000 }, (_, index) => ({
      name: `a${index}`,
      digest: 'd',
      probe: { kind: 'tcp' },
    })),
  }),
  'one service again and again': JSON.stringify({
    services: Array.from({ length: 12_000 }, () => ({ name: 'same', digest: 'd', probe: { kind: 'tcp' } })),
  }),
  'services that cannot be read': `{"services":[${'0,'.repeat(REPLY_BYTES_MAX / 2 - 10)}0]}`,
  'a service with a list of addresses': JSON.stringify({
    services: [
      { name: 'a', digest: 'd', probe: { kind: 'tcp' }, podAddresses: Array<string>(40_000).fill('10.0.0.1') },
    ],
  }),
  deep: `${'['.repeat(REPLY_BYTES_MAX / 2)}${']'.repeat(REPLY_BYTES_MAX / 2)}`,
  'many fields': `{${Array.from({ length: 40_000 }, (_, index) => `"f${index}":1`).join(',')}}`,
  'questions without end': JSON.stringify({ questions: Array<string>(100_000).fill('a') }),
};

/** A parser with its inputs: name of the shape, input. None may throw but what its caller catches. */
type Parser = { parse: (input: never) => unknown; inputs: Readonly<Record<string, string | Uint8Array>> };

const PARSERS: Readonly<Record<string, Parser>> = {
  'reply of a coordinator': { parse: (text: string) => parseReply(text), inputs: REPLIES },
  'refusal of a coordinator': { parse: (text: string) => problemDetail(text), inputs: REPLIES },
  'message of Protocol Buffers': {
    parse: (bytes: Uint8Array) => decodeFields(bytes),
    inputs: {
      'many fields': repeated(Buffer.from([8, 1]), 4096),
      'one long field': Buffer.concat([Buffer.from([10, 0xfd, 0x1f]), Buffer.alloc(4093)]),
      'a number without end': repeated(Buffer.from([0xff]), 4096),
    },
  },
  'headers of HTTP/2': {
    parse: (bytes: Uint8Array) => decodeHeaders(bytes),
    inputs: {
      'many fields': repeated(Buffer.from([0x88]), FIELD_LIST_BYTES_MAX),
      'one long value': Buffer.concat([Buffer.from([0, 1, 97, 0x7f, 0x80, 0x3e]), Buffer.alloc(8063, 97)]),
      'one long value in the code of Huffman': Buffer.concat([
        Buffer.from([0, 1, 97, 0xff, 0x80, 0x3e]),
        Buffer.alloc(8063),
      ]),
      'new sizes of the table': repeated(Buffer.from([0x20]), FIELD_LIST_BYTES_MAX),
    },
  },
  'mounts of the machine': {
    parse: (text: string) => deviceOf(`/${'a/'.repeat(100_000)}`, parseMountinfo(text)),
    inputs: {
      'many mounts': Array.from(
        { length: 5000 },
        (_, index) => `1 1 0:${index} / /m/${index} rw - tmpfs tmpfs rw`,
      ).join('\n'),
      'long mount points': `1 1 0:1 / /${'\\040'.repeat(1000)} rw\n`.repeat(50),
      'empty lines': '\n'.repeat(200_000),
    },
  },
  'feature files': {
    parse: (text: string) => takeFeatures(text, 0, { label: new Map(), feature: new Map() }),
    inputs: {
      'many lines': 'a=b\n'.repeat(16_384),
      'one long line': 'a='.repeat(32_768),
      blanks: ' '.repeat(65_536),
      directives: '# +no-label\n'.repeat(5461),
    },
  },
  'facts of the child': {
    parse: (text: string) => parseFacts(text),
    inputs: {
      'many facts': `{${Array.from({ length: 64 }, (_, index) => `"a${index}":"${'x'.repeat(1024)}"`).join(',')}}`,
      'a long name': `{"${'a-'.repeat(32_000)}":"x"}`,
    },
  },
  'resolv.conf': {
    parse: (text: string) => parseResolvConf(text),
    inputs: {
      'many lines': 'search a b c\n'.repeat(5000),
      'one long line': `search ${'a '.repeat(30_000)}`,
      blanks: ' '.repeat(65_536),
    },
  },
};

describe.each(Object.entries(PARSERS))('the largest %s', (_name, { parse, inputs }) => {
  it.each(Object.entries(inputs))('costs a multiple of what it weighs: %s', (_shape, input) => {
    const attempt = () => {
      try {
        parse(input as never);
      } catch {
        // The caller takes it for an input that cannot be read.
      }
    };
    const limitMs = 1 + MULTIPLE * parseMs(input.length);
    expect(spentMs(attempt)).toBeLessThan(limitMs);
  });
});

describe('the body of a reply', () => {
  it.each([
    ['in one piece', REPLY_BYTES_MAX],
    ['in pieces of one byte', 1],
  ])('costs time and memory for what it weighs: %s', async (_how, bytes) => {
    const body = repeated(' ', REPLY_BYTES_MAX);
    const head = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n';
    const chunk = `${bytes.toString(16)}\r\n${body.toString('latin1', 0, bytes)}\r\n`;
    const answer = Buffer.from(`${head}${chunk.repeat(REPLY_BYTES_MAX / bytes)}0\r\n\r\n`);
    const server = await listenOnLoopback(
      createServer((request) => {
        request.socket.write(answer);
      }),
    );
    onTestFinished(server.close);
    const { Agent } = process.getBuiltinModule('node:http');
    const agent = new Agent();
    const before = process.memoryUsage().rss;
    const request = { url: `http://127.0.0.1:${server.port}/`, agent, tls: {}, headers: {}, body: () => '' };
    const received = await post({ ...request, signal: within(20_000) });
    expect(received.body).toHaveLength(REPLY_BYTES_MAX);
    expect(process.memoryUsage().rss - before).toBeLessThan(80 * REPLY_BYTES_MAX);
  });
});

const FRAMES = [encodeFrame(FRAME.settings, 0, 0), encodeFrame(FRAME.headers, FLAG.endHeaders, 1, Buffer.from([0x88]))];
const HTTP2 = {
  'many frames': Buffer.concat([...FRAMES, repeated(encodeFrame(FRAME.ping, 0, 0, Buffer.alloc(8)), 17 * 4000)]),
  'a long answer': Buffer.concat([
    ...FRAMES,
    encodeFrame(FRAME.data, 0, 1, Buffer.alloc(16_384)),
    Buffer.alloc(50_000),
  ]),
  'headers without end': Buffer.concat([
    encodeFrame(FRAME.settings, 0, 0),
    encodeFrame(FRAME.headers, 0, 1),
    repeated(encodeFrame(FRAME.continuation, 0, 1, Buffer.from([0x88])), 65_000),
  ]),
};
const HTTP1 = {
  'interim answers': repeated('HTTP/1.1 103 Early Hints\r\n\r\n', 65_536),
  'a long header': Buffer.from(`HTTP/1.1 404 No\r\na: ${'x'.repeat(65_000)}`),
  'many headers': Buffer.from(`HTTP/1.1 404 No\r\n${'a: b\r\n'.repeat(10_000)}`),
  'a long answer': Buffer.from(`HTTP/1.1 404 No\r\ncontent-length: 900000\r\n\r\n${'x'.repeat(900_000)}`),
  'tiny chunks': Buffer.from(`HTTP/1.1 404 No\r\ntransfer-encoding: chunked\r\n\r\n${'1\r\nx\r\n'.repeat(60_000)}`),
};
const BYTES = {
  'bytes without sense': repeated('x', 1_000_000),
  'records of TLS': repeated(Buffer.from([22, 3, 3, 0, 1, 2]), 600_000),
};

/** What a service may answer that is asked by a kind of probe; those that read nothing of a peer say why. */
const ANSWERS: Readonly<Record<string, Readonly<Record<string, Buffer>> | string>> = {
  tcp: BYTES,
  tls: BYTES,
  kubernetesService: 'the same as tls, at an address that is not chosen',
  http2: { ...HTTP2, ...BYTES },
  http: { ...HTTP1, ...BYTES },
  https: BYTES,
  grpc: { ...HTTP2, ...BYTES },
  csi: 'the same as grpc, over a socket',
  unix: 'the same as tcp, over a socket',
  file: 'reads 1 KiB, of which it shows 200 characters',
  dns: 'c-ares reads what resolvers send, at most 64 KiB for a question',
};

it('every kind of probe is in the list', () => {
  expect(Object.keys(ANSWERS).sort()).toEqual(PROBES.map(({ kind }) => kind).sort());
});

const CASES = Object.entries(ANSWERS).flatMap(([kind, answers]) =>
  typeof answers === 'string' ? [] : Object.entries(answers).map(([shape, bytes]) => [kind, shape, bytes] as const),
);

describe('the largest answer to a probe', () => {
  /** Answers in a thread of its own, so that the time of this one is that of the agent. */
  let peer: Worker;
  let port = 0;
  beforeAll(async () => {
    peer = new Worker(fileURLToPath(new URL('./probes/testing/answering-peer.ts', import.meta.url)));
    port = await new Promise<number>((resolve) => peer.once('message', resolve));
  });
  afterAll(() => peer.terminate());

  it.each(
    CASES.flatMap(([kind, shape, bytes]) => [false, true].map((isSlow) => [kind, shape, isSlow, bytes] as const)),
  )('costs a multiple of what it weighs: %s, %s, one byte at a time: %s', async (kind, _shape, isSlow, bytes) => {
    const isSet = new Promise((resolve) => peer.once('message', resolve));
    peer.postMessage({ bytes, isSlow });
    await isSet;
    const target = { host: '127.0.0.1', port };
    const line = openLineFor(probeOf(kind))(() => {});
    onTestFinished(() => line.release());
    const before = process.threadCpuUsage();
    // Time for what is left of an answer once there is a verdict.
    const { evidence } = await line.ask(target, within(400), true);
    line.hold(target);
    await new Promise((resolve) => setTimeout(resolve, 100));
    const { user, system } = process.threadCpuUsage(before);
    expect(evidence.length).toBeLessThanOrEqual(1024);
    expect((user + system) / 1000).toBeLessThan(3 * ROUND_MS + 10 * parseMs(bytes.length));
  });
});
