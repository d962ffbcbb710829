import type { Socket } from 'node:net';
import { type Connect, codedError } from './exchange.ts';
import { decodeHeaders, encodeHeaders, FIELD_LIST_BYTES_MAX } from './hpack.ts';
import {
  decodeFrameHeader,
  encodeFrame,
  FLAG,
  FRAME,
  FRAME_HEADER_BYTES,
  type FrameHeader,
  isServerPreface,
  MAGIC,
} from './http2-frames.ts';
import { limitReads, openKeptSocket, overTls, type ReadLimit, readLimitOf } from './kept-socket.ts';
import { BadAnswer, formatTarget } from './probe.ts';
import type { TlsTrust } from './tls-contexts.ts';
import type { ProbeAddress } from './types.ts';

/** The largest frame, as every client has to take it; RFC 9113, section 6.5.2. */
const FRAME_BYTES_MAX = 16 * 1024;
/** Frames of any type from a question to the next; a health check takes about ten. */
const FRAMES_MAX = 128;
/** More than any answer to a health check. */
const BODY_BYTES_MAX = 4 * 1024;
/** Bytes of DATA frames after which another connection is made, half of what a server may send without an update. */
const FLOW_BYTES_MAX = 32 * 1024;
/** A server that sets less is asked over a new connection, on which this much is allowed before its settings arrive. */
const REQUEST_BYTES_MAX = 1024;
const INITIAL_WINDOW_SIZE = 4;

/** SETTINGS_HEADER_TABLE_SIZE 0, SETTINGS_ENABLE_PUSH 0, SETTINGS_MAX_HEADER_LIST_SIZE. */
const PREFACE = Buffer.concat([
  MAGIC,
  encodeFrame(FRAME.settings, 0, 0, settings([1, 0], [2, 0], [6, FIELD_LIST_BYTES_MAX])),
]);

export type Http2Answer = { headers: Map<string, string>; body: Buffer };

type Http2Options = { connect?: Connect; trust?: TlsTrust | undefined };

/** `isHead`: the body is of no interest. */
type Question = {
  stream: number;
  isHead: boolean;
  headers: Map<string, string> | undefined;
  body: Buffer[];
  bodyBytes: number;
  settle(answer: Http2Answer | Error): void;
};

/**
 * A connection of a client of HTTP/2, on which one request at a time is sent. It is memory-safe: no length that the peer
 * names is trusted before it was compared with a limit. A fault of the peer ends the connection with BadAnswer.
 */
export class Http2Connection {
  readonly socket: Socket;
  readonly #limit: ReadLimit;
  readonly #authority: string;
  readonly #scheme: 'http' | 'https';
  readonly #header = Buffer.alloc(FRAME_HEADER_BYTES);
  #headerBytes = 0;
  #frame: FrameHeader | undefined;
  #payload = Buffer.alloc(0);
  #payloadBytes = 0;
  #frames = 0;
  #flowBytes = 0;
  #hasSettings = false;
  #isLeaving = false;
  #window = REQUEST_BYTES_MAX;
  #lastStream = -1;
  #question: Question | undefined;
  /** A block of headers that goes on in the next frame. */
  #block: { endsStream: boolean; stream: number; parts: Buffer[]; bytes: number } | undefined;

  /**
   * `onClosed` is called when either side has ended the connection; errors come out in requests. With `trust` it speaks TLS.
   */
  constructor(address: ProbeAddress, onClosed: () => void, { connect, trust }: Http2Options = {}) {
    const wire = openKeptSocket(address, connect);
    this.socket = trust ? overTls(wire, trust, { ALPNProtocols: ['h2'] }) : wire;
    this.#limit = readLimitOf(this.socket) ?? limitReads(this.socket);
    this.#scheme = trust ? 'https' : 'http';
    this.#authority = 'path' in address ? 'localhost' : formatTarget(address);
    this.socket.on('data', (chunk: Buffer) => this.#read(chunk));
    this.socket.on('error', (error) => this.#question?.settle(error));
    this.socket.on('end', () => this.socket.destroy());
    this.socket.on('close', () => {
      this.#question?.settle(codedError('ECONNRESET'));
      onClosed();
    });
    this.socket.write(PREFACE);
  }

  /** What is left of the last answer was not read: the connection serves no longer. */
  isSpent = false;

  /** Whether the server takes another request on this connection. */
  get isUsable(): boolean {
    const isOpen = !this.socket.destroyed && !this.#isLeaving && !this.isSpent && !this.#question;
    return isOpen && this.#window >= REQUEST_BYTES_MAX && this.#flowBytes <= FLOW_BYTES_MAX;
  }

  /**
   * Sends a request, whose headers begin with `:method` and `:path`, perhaps with another `:authority` than the address,
   * and resolves to the answer, its trailers among its
   * headers; of a GET to the headers, without the body. Rejects with the socket's error, with ECONNRESET without a syscall
   * when the server hangs up before it answers, with BadAnswer, or with the signal's reason.
   */
  request(
    headers: readonly (readonly [name: string, value: string])[],
    body: Uint8Array,
    signal: AbortSignal,
  ): Promise<Http2Answer> {
    return new Promise((resolve, reject) => {
      signal.throwIfAborted();
      const onAbort = () => question.settle(signal.reason);
      const settle = (answer: Http2Answer | Error) => {
        signal.removeEventListener('abort', onAbort);
        this.#question = undefined;
        if (answer instanceof Error) {
          this.socket.destroy();
          reject(answer);
        } else {
          this.#limit.rest();
          if (this.#isLeaving) this.socket.destroy();
          resolve(answer);
        }
      };
      this.#lastStream += 2;
      const isHead = headers[0]?.[1] === 'GET';
      const isNamed = headers.some(([name]) => name === ':authority');
      const authority = isNamed ? [] : [[':authority', this.#authority] as const];
      const question: Question = {
        ...{ stream: this.#lastStream, isHead, headers: undefined, body: [], bodyBytes: 0, settle },
      };
      this.#question = question;
      this.#frames = 0;
      this.#limit.ask();
      signal.addEventListener('abort', onAbort);
      this.socket.write(
        encodeFrame(
          FRAME.headers,
          FLAG.endHeaders,
          question.stream,
          encodeHeaders([[':scheme', this.#scheme], ...authority, ...headers]),
        ),
      );
      this.socket.write(encodeFrame(FRAME.data, FLAG.endStream, question.stream, body));
      if (this.socket.destroyed) settle(codedError('ECONNRESET'));
    });
  }

  /** Collects frames from chunks of any size. */
  #read(chunk: Buffer): void {
    try {
      for (let at = 0; at < chunk.length && !this.socket.destroyed && !this.isSpent; ) {
        if (!this.#frame) {
          const copied = chunk.copy(this.#header, this.#headerBytes, at);
          at += copied;
          this.#headerBytes += copied;
          if (this.#headerBytes < FRAME_HEADER_BYTES) return;
          this.#beginFrame(decodeFrameHeader(this.#header));
        }
        const copied = chunk.copy(this.#payload, this.#payloadBytes, at);
        at += copied;
        this.#payloadBytes += copied;
        if (this.#payloadBytes === this.#payload.length) this.#endFrame();
      }
    } catch (error) {
      this.socket.destroy(error as Error);
    }
  }

  #beginFrame(frame: FrameHeader): void {
    if (!this.#hasSettings && !isServerPreface(frame)) throw notHttp2();
    this.#hasSettings = true;
    this.#frames += 1;
    if (this.#frames > FRAMES_MAX) throw new BadAnswer(`sent more than ${FRAMES_MAX} frames for one answer`);
    if (frame.length > FRAME_BYTES_MAX) throw new BadAnswer(`sent a frame of more than ${FRAME_BYTES_MAX} bytes`);
    const isContinuation = frame.type === FRAME.continuation && frame.stream === this.#block?.stream;
    if (isContinuation !== (this.#block !== undefined)) throw notHttp2();
    this.#frame = frame;
    this.#payload = Buffer.allocUnsafe(frame.length);
    this.#payloadBytes = 0;
  }

  #endFrame(): void {
    const frame = this.#frame;
    this.#frame = undefined;
    this.#headerBytes = 0;
    if (frame) this.#take(frame, this.#payload);
  }

  #take({ type, flags, stream }: FrameHeader, payload: Buffer): void {
    switch (type) {
      case FRAME.headers:
        this.#takeHeaders(flags, stream, payload);
        break;
      case FRAME.continuation:
        this.#takeBlock(flags, payload);
        break;
      case FRAME.data:
        this.#takeData(flags, stream, payload);
        break;
      case FRAME.settings:
        this.#takeSettings(flags, stream, payload);
        break;
      case FRAME.ping:
        if (stream !== 0 || payload.length !== 8) throw notHttp2();
        if ((flags & FLAG.ack) === 0) this.socket.write(encodeFrame(FRAME.ping, FLAG.ack, 0, payload));
        break;
      case FRAME.rstStream:
        if (stream === 0 || payload.length !== 4) throw notHttp2();
        if (stream === this.#question?.stream) throw new BadAnswer('ended the request without an answer');
        break;
      case FRAME.goaway:
        this.#takeGoaway(stream, payload);
        break;
      case FRAME.pushPromise:
        throw notHttp2();
      default:
      // WINDOW_UPDATE, PRIORITY and what is not known need no answer.
    }
  }

  #takeSettings(flags: number, stream: number, payload: Buffer): void {
    const isAck = (flags & FLAG.ack) !== 0;
    if (stream !== 0 || payload.length % 6 !== 0 || (isAck && payload.length > 0)) throw notHttp2();
    for (let at = 0; at < payload.length; at += 6) {
      if (payload.readUInt16BE(at) === INITIAL_WINDOW_SIZE) this.#window = payload.readUInt32BE(at + 2);
    }
    if (!isAck) this.socket.write(encodeFrame(FRAME.settings, FLAG.ack, 0));
  }

  #takeGoaway(stream: number, payload: Buffer): void {
    if (stream !== 0 || payload.length < 8) throw notHttp2();
    this.#isLeaving = true;
    const isAnswered = this.#question && this.#question.stream <= (payload.readUInt32BE(0) & 0x7fff_ffff);
    if (!isAnswered) this.socket.destroy();
  }

  #takeHeaders(flags: number, stream: number, payload: Buffer): void {
    let fragment = withoutPadding(flags, payload);
    if ((flags & FLAG.priority) !== 0) {
      if (fragment.length < 5) throw notHttp2();
      fragment = fragment.subarray(5);
    }
    this.#block = { endsStream: (flags & FLAG.endStream) !== 0, stream, parts: [], bytes: 0 };
    this.#takeBlock(flags, fragment);
  }

  #takeBlock(flags: number, fragment: Buffer): void {
    const block = this.#block;
    if (!block) throw notHttp2();
    block.bytes += fragment.length;
    if (block.bytes > FIELD_LIST_BYTES_MAX)
      throw new BadAnswer(`answered with more than ${FIELD_LIST_BYTES_MAX} bytes of headers`);
    block.parts.push(fragment);
    if ((flags & FLAG.endHeaders) === 0) return;
    this.#block = undefined;
    const question = this.#questionOf(block.stream);
    const headers = decodeHeaders(Buffer.concat(block.parts));
    // An interim answer, such as 103.
    if (headers.get(':status')?.startsWith('1') && !block.endsStream) return;
    // Trailers are the end.
    if (question.headers && !block.endsStream) throw notHttp2();
    question.headers = new Map([...(question.headers ?? []), ...headers]);
    if (question.isHead && !block.endsStream) this.isSpent = true;
    if (block.endsStream || question.isHead) finish(question);
  }

  #takeData(flags: number, stream: number, payload: Buffer): void {
    const question = this.#questionOf(stream);
    this.#flowBytes += payload.length;
    const data = withoutPadding(flags, payload);
    question.bodyBytes += data.length;
    if (question.bodyBytes > BODY_BYTES_MAX) throw new BadAnswer(`answered with more than ${BODY_BYTES_MAX} bytes`);
    question.body.push(data);
    if ((flags & FLAG.endStream) !== 0) finish(question);
  }

  /** The request that is under way; nothing else has a stream that is open. */
  #questionOf(stream: number): Question {
    if (this.#question?.stream !== stream) throw notHttp2();
    return this.#question;
  }
}

function finish({ headers, body, settle }: Question): void {
  if (!headers) throw notHttp2();
  settle({ headers, body: Buffer.concat(body) });
}

function withoutPadding(flags: number, payload: Buffer): Buffer {
  if ((flags & FLAG.padded) === 0) return payload;
  const padding = payload[0];
  if (padding === undefined || padding >= payload.length) throw notHttp2();
  return payload.subarray(1, payload.length - padding);
}

function settings(...pairs: readonly (readonly [id: number, value: number])[]): Buffer {
  const payload = Buffer.alloc(6 * pairs.length);
  pairs.forEach(([id, value], index) => {
    payload.writeUInt16BE(id, 6 * index);
    payload.writeUInt32BE(value, 6 * index + 2);
  });
  return payload;
}

function notHttp2(): BadAnswer {
  return new BadAnswer('did not answer in HTTP/2');
}
