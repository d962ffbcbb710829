import { constants, createServer, type ServerHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Http2Connection } from './http2-connection.ts';
import { encodeFrame, FLAG, FRAME } from './http2-frames.ts';
import { createGrpcServer } from './testing/grpc-server.ts';
import { eventually, within } from './testing/limits.ts';
import { createRawServer, listenOnLoopback } from './testing/servers.ts';

const SETTINGS = encodeFrame(FRAME.settings, 0, 0);
const NOTHING = Buffer.alloc(0);
const END = FLAG.endStream | FLAG.endHeaders;

/** A literal field, RFC 7541 section 6.2.2. */
function field(name: string, value: string): Buffer {
  return Buffer.concat([
    Buffer.from([0, name.length]),
    Buffer.from(name),
    Buffer.from([value.length]),
    Buffer.from(value),
  ]);
}

const OK = Buffer.from([0x88]);
const ANSWER = [
  encodeFrame(FRAME.headers, FLAG.endHeaders, 1, Buffer.concat([OK, field('content-type', 'application/grpc')])),
  encodeFrame(FRAME.data, 0, 1, Buffer.from('body')),
  encodeFrame(FRAME.headers, END, 1, field('grpc-status', '0')),
];

/** What comes of a request to a server that sends this after the request, or does this. */
async function ask(answer: readonly Buffer[] | ((socket: Socket) => void), limitMs = 5000): Promise<string> {
  const server = await listenOnLoopback(
    createRawServer((socket) =>
      socket.once('data', () => (typeof answer === 'function' ? answer(socket) : socket.write(Buffer.concat(answer)))),
    ),
  );
  onTestFinished(server.close);
  return request(new Http2Connection(server, () => {}), limitMs);
}

async function request(connection: Http2Connection, limitMs = 5000): Promise<string> {
  onTestFinished(() => void connection.socket.destroy());
  const headers = [
    [':method', 'POST'],
    [':path', '/x'],
  ] as const;
  try {
    const answer = await connection.request(headers, Buffer.from('question'), within(limitMs));
    return `${answer.headers.get(':status')} ${answer.headers.get('grpc-status')} ${answer.body}`;
  } catch (error) {
    return `${(error as NodeJS.ErrnoException).code ?? ''} ${(error as Error).message}`.trim();
  }
}

describe('a request over HTTP/2', () => {
  it.each<[string, readonly Buffer[]]>([
    ['as it comes', [SETTINGS, ...ANSWER]],
    [
      'with trailers only',
      [
        SETTINGS,
        encodeFrame(FRAME.headers, END, 1, Buffer.concat([OK, field('grpc-status', '0')])),
        encodeFrame(FRAME.rstStream, 0, 1, Buffer.alloc(4)),
      ],
    ],
    [
      'with padding and a priority',
      [
        SETTINGS,
        encodeFrame(
          FRAME.headers,
          FLAG.endHeaders | FLAG.padded | FLAG.priority,
          1,
          Buffer.concat([Buffer.from([3, 0, 0, 0, 0, 9]), OK, Buffer.alloc(3)]),
        ),
        encodeFrame(FRAME.data, FLAG.padded, 1, Buffer.from([2, ...Buffer.from('body'), 0, 0])),
        encodeFrame(FRAME.data, FLAG.padded, 1, Buffer.from([0])),
        ANSWER[2] ?? NOTHING,
      ],
    ],
    [
      'in many frames',
      [
        SETTINGS,
        encodeFrame(FRAME.headers, 0, 1, NOTHING),
        ...[...Buffer.concat([OK, field('a', 'b')])].map((byte) =>
          encodeFrame(FRAME.continuation, 0, 1, Buffer.from([byte])),
        ),
        encodeFrame(FRAME.continuation, FLAG.endHeaders, 1, NOTHING),
        ...[...Buffer.from('body')].map((byte) => encodeFrame(FRAME.data, 0, 1, Buffer.from([byte]))),
        ANSWER[2] ?? NOTHING,
      ],
    ],
    [
      'after an interim answer',
      [SETTINGS, encodeFrame(FRAME.headers, FLAG.endHeaders, 1, field(':status', '103')), ...ANSWER],
    ],
    [
      'among frames that need no answer',
      [
        SETTINGS,
        encodeFrame(FRAME.settings, FLAG.ack, 0),
        encodeFrame(FRAME.windowUpdate, 0, 0, Buffer.from([0, 0, 1, 0])),
        encodeFrame(FRAME.ping, 0, 0, Buffer.alloc(8)),
        encodeFrame(FRAME.priority, 0, 7, Buffer.alloc(5)),
        encodeFrame(0x42, 0xff, 1, Buffer.alloc(10)),
        ...ANSWER,
      ],
    ],
    [
      'from a server that goes away after it',
      [SETTINGS, encodeFrame(FRAME.goaway, 0, 0, Buffer.from([0, 0, 0, 1, 0, 0, 0, 0])), ...ANSWER],
    ],
  ])('gets the answer %s', async (_how, frames) => {
    expect(await ask(frames)).toMatch(/^200 0 (body)?$|^200 undefined body$/);
    const bytes = Buffer.concat(frames);
    expect(await ask((socket) => writeByBytes(socket, bytes))).toMatch(/^200 0 (body)?$|^200 undefined body$/);
  });

  const many = (count: number, frame: Buffer) => Array.from({ length: count }, () => frame);
  it.each<[string, string, readonly Buffer[]]>([
    [
      'headers of 4 KB and 16 KB more',
      'answered with more than 8192 bytes of headers',
      [
        SETTINGS,
        encodeFrame(FRAME.headers, 0, 1, Buffer.alloc(4096)),
        encodeFrame(FRAME.continuation, 0, 1, Buffer.alloc(16_384)),
      ],
    ],
    [
      'a list of fields that is larger than its block',
      'answered with more than 8192 bytes of headers',
      [SETTINGS, encodeFrame(FRAME.headers, END, 1, Buffer.alloc(5000, 0x88))],
    ],
    [
      'CONTINUATION without end',
      'sent more than 128 frames for one answer',
      [SETTINGS, encodeFrame(FRAME.headers, 0, 1), ...many(200, encodeFrame(FRAME.continuation, 0, 1))],
    ],
    ['many SETTINGS', 'sent more than 128 frames for one answer', many(500, SETTINGS)],
    [
      'many PINGs',
      'sent more than 128 frames for one answer',
      [SETTINGS, ...many(500, encodeFrame(FRAME.ping, 0, 0, Buffer.alloc(8)))],
    ],
    [
      'empty DATA without end',
      'sent more than 128 frames for one answer',
      [SETTINGS, ANSWER[0] ?? NOTHING, ...many(500, encodeFrame(FRAME.data, 0, 1))],
    ],
    [
      'a long body',
      'answered with more than 4096 bytes',
      [SETTINGS, ANSWER[0] ?? NOTHING, encodeFrame(FRAME.data, 0, 1, Buffer.alloc(5000))],
    ],
    [
      'a frame of 16 MB',
      'sent a frame of more than 16384 bytes',
      [SETTINGS, Buffer.from([0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 1])],
    ],
    ['no SETTINGS first', 'did not answer in HTTP/2', [...ANSWER]],
    ['an acknowledgement first', 'did not answer in HTTP/2', [encodeFrame(FRAME.settings, FLAG.ack, 0), ...ANSWER]],
    ['SETTINGS of another length', 'did not answer in HTTP/2', [encodeFrame(FRAME.settings, 0, 0, Buffer.alloc(5))]],
    [
      'later SETTINGS of another length',
      'did not answer in HTTP/2',
      [SETTINGS, encodeFrame(FRAME.settings, 0, 0, Buffer.alloc(5))],
    ],
    ['SETTINGS on a stream', 'did not answer in HTTP/2', [SETTINGS, encodeFrame(FRAME.settings, 0, 1)]],
    [
      'an acknowledgement with settings',
      'did not answer in HTTP/2',
      [SETTINGS, encodeFrame(FRAME.settings, FLAG.ack, 0, Buffer.alloc(6))],
    ],
    ['a short PING', 'did not answer in HTTP/2', [SETTINGS, encodeFrame(FRAME.ping, 0, 0, Buffer.alloc(7))]],
    [
      'a push promise',
      'did not answer in HTTP/2',
      [SETTINGS, encodeFrame(FRAME.pushPromise, FLAG.endHeaders, 1, Buffer.alloc(4))],
    ],
    ['headers on another stream', 'did not answer in HTTP/2', [SETTINGS, encodeFrame(FRAME.headers, END, 3, OK)]],
    ['headers on stream 0', 'did not answer in HTTP/2', [SETTINGS, encodeFrame(FRAME.headers, END, 0, OK)]],
    ['data on another stream', 'did not answer in HTTP/2', [SETTINGS, encodeFrame(FRAME.data, 1, 2)]],
    ['data before headers', 'did not answer in HTTP/2', [SETTINGS, encodeFrame(FRAME.data, 1, 1)]],
    [
      'a frame between parts of headers',
      'did not answer in HTTP/2',
      [SETTINGS, encodeFrame(FRAME.headers, 0, 1, OK), encodeFrame(FRAME.ping, 0, 0, Buffer.alloc(8))],
    ],
    [
      'parts of headers on another stream',
      'did not answer in HTTP/2',
      [SETTINGS, encodeFrame(FRAME.headers, 0, 1, OK), encodeFrame(FRAME.continuation, 4, 3)],
    ],
    [
      'a part of headers without a beginning',
      'did not answer in HTTP/2',
      [SETTINGS, encodeFrame(FRAME.continuation, 4, 1, OK)],
    ],
    [
      'trailers that are not the end',
      'did not answer in HTTP/2',
      [SETTINGS, ANSWER[0] ?? NOTHING, ANSWER[0] ?? NOTHING],
    ],
    [
      'more padding than the frame has',
      'did not answer in HTTP/2',
      [SETTINGS, encodeFrame(FRAME.headers, END | FLAG.padded, 1, Buffer.from([2, 0x88]))],
    ],
    [
      'padding in an empty frame',
      'did not answer in HTTP/2',
      [SETTINGS, encodeFrame(FRAME.headers, END | FLAG.padded, 1)],
    ],
    [
      'a priority that is cut',
      'did not answer in HTTP/2',
      [SETTINGS, encodeFrame(FRAME.headers, END | FLAG.priority, 1, Buffer.alloc(4))],
    ],
    [
      'a reset',
      'ended the request without an answer',
      [SETTINGS, encodeFrame(FRAME.rstStream, 0, 1, Buffer.from([0, 0, 0, 8]))],
    ],
    [
      'a reset that is cut',
      'did not answer in HTTP/2',
      [SETTINGS, encodeFrame(FRAME.rstStream, 0, 1, Buffer.alloc(3))],
    ],
    [
      'that it goes away before the request',
      'ECONNRESET ECONNRESET',
      [SETTINGS, encodeFrame(FRAME.goaway, 0, 0, Buffer.alloc(8))],
    ],
    [
      'that it goes away, cut',
      'did not answer in HTTP/2',
      [SETTINGS, encodeFrame(FRAME.goaway, 0, 0, Buffer.alloc(7))],
    ],
    [
      'headers that cannot be read',
      'answered with headers that cannot be read',
      [SETTINGS, encodeFrame(FRAME.headers, END, 1, Buffer.from([0xbe]))],
    ],
  ])('fails where the server sends %s: %s', async (_what, says, frames) => {
    expect(await ask(frames)).toBe(says);
    const bytes = Buffer.concat(frames).subarray(0, 1000);
    if (bytes.length < 1000) expect(await ask((socket) => writeByBytes(socket, bytes))).toBe(says);
  });

  it('fails where the server closes the connection', async () => {
    expect(await ask((socket) => socket.end(Buffer.concat([SETTINGS, ANSWER[0] ?? NOTHING])))).toBe(
      'ECONNRESET ECONNRESET',
    );
  });

  it('fails where small pieces come without end', async () => {
    const drip = (socket: Socket) => {
      const timer = setInterval(() => socket.write(Buffer.alloc(1)), 1);
      socket.write(Buffer.concat([SETTINGS, ANSWER[0] ?? NOTHING, Buffer.from([0, 0x10, 0, 0, 0, 0, 0, 0, 1])]));
      socket.on('close', () => clearInterval(timer));
    };
    expect(await ask(drip, 20_000)).toBe('sent more than a probe reads');
  });
});

async function writeByBytes(socket: Socket, bytes: Buffer): Promise<void> {
  socket.setNoDelay(true);
  for (const byte of bytes) {
    if (socket.destroyed) return;
    socket.write(Buffer.from([byte]));
    await new Promise((resolve) => setImmediate(resolve));
  }
}

describe('a connection of HTTP/2', () => {
  async function connected(answer: (stream: ServerHttp2Stream) => void, settings = {}) {
    const server = createServer({ settings });
    server.on('stream', (stream: ServerHttp2Stream) => answer(stream));
    const running = await listenOnLoopback(server);
    onTestFinished(running.close);
    let closes = 0;
    const connection = new Http2Connection(running, () => {
      closes += 1;
    });
    return { connection, server: running, closes: () => closes };
  }

  const respond = (stream: ServerHttp2Stream) => {
    stream.respond({ ':status': 200, 'grpc-status': '0', 'x-long': 'value '.repeat(500) });
    stream.end('body');
  };

  it('serves one request after the other, from a server with a table of its own', async () => {
    const { connection, server } = await connected(respond);
    for (let round = 0; round < 5; round += 1) {
      expect(await request(connection)).toBe('200 0 body');
      expect(connection.isUsable).toBe(true);
    }
    expect(server.accepted()).toBe(1);
  });

  it('is used once where the server would not take the next request as a whole', async () => {
    const { connection } = await connected(respond, { initialWindowSize: 0 });
    expect(await request(connection)).toBe('200 0 body');
    expect(connection.isUsable).toBe(false);
  });

  it('is not used for more than the server may send', async () => {
    const { connection } = await connected((stream) => {
      stream.respond({ ':status': 200, 'grpc-status': '0' });
      stream.end(Buffer.alloc(4000));
    });
    let requests = 0;
    for (; connection.isUsable; requests += 1) expect(await request(connection)).toMatch(/^200 0/);
    expect(requests).toBe(9);
  });

  it('ends when the server goes away, and tells once', async () => {
    const { connection, closes } = await connected((stream) => {
      const { session } = stream;
      stream.on('close', () => session?.goaway(constants.NGHTTP2_NO_ERROR));
      respond(stream);
    });
    expect(await request(connection)).toBe('200 0 body');
    await eventually(() => expect(closes()).toBe(1));
    expect(connection.isUsable).toBe(false);
  });

  it('ends when the server talks on without being asked', async () => {
    for (const frame of [
      encodeFrame(FRAME.ping, 0, 0, Buffer.alloc(8)),
      encodeFrame(FRAME.data, 0, 1, Buffer.alloc(100)),
    ]) {
      let talk = () => {};
      const server = await listenOnLoopback(
        createRawServer((socket) =>
          socket.once('data', () => {
            socket.write(Buffer.concat([SETTINGS, ...ANSWER]));
            talk = () => void socket.write(Buffer.concat(Array.from({ length: 300 }, () => frame)));
          }),
        ),
      );
      onTestFinished(server.close);
      let closes = 0;
      const connection = new Http2Connection(server, () => {
        closes += 1;
      });
      expect(await request(connection)).toBe('200 0 body');
      talk();
      await eventually(() => expect(closes).toBe(1));
    }
  });

  it('reads the answers of a gRPC server', async () => {
    const server = await listenOnLoopback(createGrpcServer({ '/x': () => Buffer.from('hello') }));
    onTestFinished(server.close);
    expect(await request(new Http2Connection(server, () => {}))).toBe('200 0 \0\0\0\0\x05hello');
  });
});
