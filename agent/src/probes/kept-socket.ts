import { connect as connectSocket, type Socket } from 'node:net';
import type { ConnectionOptions, TLSSocket } from 'node:tls';
import { type Connect, codedError, isConnectedToItself, socketAddress } from './exchange.ts';
import { BadAnswer } from './probe.ts';
import type { TlsTrust } from './tls-contexts.ts';
import type { ProbeAddress } from './types.ts';

/** So that a peer that vanished without a word is noticed in minutes, by the kernel. */
const KEEP_ALIVE_MS = 15_000;

/**
 * Connects for more than one question. The connection ends with an error if it reached only itself, or if the peer sends
 * more than its `ReadLimit` allows.
 */
export function openKeptSocket(address: ProbeAddress, connect: Connect = connectSocket): Socket {
  const options = { keepAlive: true, keepAliveInitialDelay: KEEP_ALIVE_MS, noDelay: true };
  const socket = connect({ ...socketAddress(address), ...options });
  socket.on('error', () => {});
  socket.on('connect', () => {
    if (isConnectedToItself(socket)) socket.destroy(codedError('ECONNREFUSED'));
  });
  return socket;
}

/**
 * Speaks TLS over a connection, and limits what is read. A certificate must chain up to the bundle, but its names are not
 * compared: a service is probed by the address of its pod or node, and its certificate is made for the name that its clients
 * know.
 */
export function overTls(wire: Socket, trust: TlsTrust, options: ConnectionOptions): TLSSocket {
  const encrypted = process.getBuiltinModule('node:tls').connect({
    servername: '',
    ...options,
    socket: wire,
    secureContext: trust.context(),
    rejectUnauthorized: trust.isVerified,
    checkServerIdentity: () => undefined,
  });
  limitReads(encrypted, wire);
  return encrypted;
}

/** Bytes that a peer may send from a question to the end of its answer. */
const ANSWER_BYTES_MAX = 96 * 1024;
/** Bytes that it may send without a question: a greeting, tickets of TLS, settings, pings. */
const IDLE_BYTES_MAX = 4 * 1024;
/** Bytes for which an event counts, besides those that it brings: the work for an event is not in its length. */
const EVENT_BYTES = 64;
/** TLS tells nothing of some records; their bytes are counted when any service is asked, but not more often than this. */
const SILENT_BYTES_CHECK_MS = 250;

const limits = new WeakMap<Socket, ReadLimit>();
const withSilentBytes = new Set<ReadLimit>();
let silentBytesCountedMs = Number.NEGATIVE_INFINITY;

/** Counts the bytes of records that cause no event. To be called whenever the agent is awake. */
export function countSilentBytes(): void {
  if (performance.now() - silentBytesCountedMs < SILENT_BYTES_CHECK_MS) return;
  silentBytesCountedMs = performance.now();
  for (const limit of withSilentBytes) limit.count(0);
}

/**
 * Bounds what a peer makes this process read between two questions: the one law for all kinds of probes that keep a
 * connection. Bytes count as they come from the network, so that a record or frame without content is not free.
 */
class ReadLimit {
  readonly #socket: Socket;
  readonly #wire: Socket;
  #left = IDLE_BYTES_MAX;
  #bytesRead = 0;

  constructor(socket: Socket, wire: Socket) {
    this.#socket = socket;
    this.#wire = wire;
    const onEvent = () => this.count(EVENT_BYTES);
    socket.on('data', onEvent);
    if (wire === socket) return;
    // Each ticket is a session, each new key and each new handshake a line for the log of keys.
    socket.on('session', onEvent).on('keylog', onEvent);
    withSilentBytes.add(this);
    socket.on('close', () => withSilentBytes.delete(this));
  }

  /** A question goes out. */
  ask(): void {
    this.#renew(ANSWER_BYTES_MAX);
  }

  /** The answer is complete, or a round has gone by in which nothing was asked. */
  rest(): void {
    this.#renew(IDLE_BYTES_MAX);
  }

  #renew(left: number): void {
    this.count(0);
    countSilentBytes();
    this.#bytesRead = this.#wire.bytesRead;
    this.#left = left;
  }

  count(bytes: number): void {
    const { bytesRead } = this.#wire;
    this.#left -= bytes + bytesRead - this.#bytesRead;
    this.#bytesRead = bytesRead;
    if (this.#left < 0) this.#socket.destroy(new BadAnswer('sent more than a probe reads'));
  }
}

export type { ReadLimit };

/** Limits what is read from `socket` from now on. For TLS, `wire` is the connection below it. */
export function limitReads(socket: Socket, wire = socket): ReadLimit {
  const limit = new ReadLimit(socket, wire);
  limits.set(socket, limit);
  return limit;
}

/** The limit of a socket that `limitReads` has seen. */
export function readLimitOf(socket: Socket): ReadLimit | undefined {
  return limits.get(socket);
}
