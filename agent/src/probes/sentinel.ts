import { connect as connectSocket, type Socket } from 'node:net';
import { type Connect, isConnectedToItself, socketAddress } from './exchange.ts';
import type { ProbeAddress } from './types.ts';

/** So that a peer that vanished without a word is noticed in minutes, by the kernel. */
const KEEP_ALIVE_MS = 15_000;
/** More than any greeting of a server. A peer that talks on is no peer to sit idle with. */
const RECEIVED_BYTES_MAX = 64 * 1024;

/**
 * Holds one idle connection to a service, because the kernel closes it the moment that the process dies. It does not
 * judge: a close can also mean that the server tidies up, so the callback has to probe.
 */
export class Sentinel {
  readonly #onClosed: () => void;
  readonly #connect: Connect;
  #socket: Socket | undefined;

  /** `onClosed` is called once for each connection that the other side closed, reset or did not take. */
  constructor(onClosed: () => void, connect: Connect = connectSocket) {
    this.#onClosed = onClosed;
    this.#connect = connect;
  }

  /** Whether a connection stands. */
  get connected(): boolean {
    return this.#socket?.readyState === 'open';
  }

  /** Connects, unless a connection is held or under way. */
  hold(target: ProbeAddress): void {
    if (this.#socket) return;
    const socket = this.#connect({ ...socketAddress(target), keepAlive: true, keepAliveInitialDelay: KEEP_ALIVE_MS });
    this.#socket = socket;
    const lose = () => {
      socket.destroy();
      if (this.#socket !== socket) return;
      this.#socket = undefined;
      this.#onClosed();
    };
    // Whichever comes first; 'error' is listened to for as long as the socket lives.
    socket.on('error', lose).on('end', lose).on('close', lose);
    socket.on('connect', () => {
      if (isConnectedToItself(socket)) lose();
    });
    // Reading is what makes the end of the stream known.
    socket.on('data', () => {
      if (socket.bytesRead > RECEIVED_BYTES_MAX) lose();
    });
  }

  /** Closes the connection, if any, without calling back. */
  release(): void {
    const socket = this.#socket;
    this.#socket = undefined;
    socket?.destroy();
  }
}
