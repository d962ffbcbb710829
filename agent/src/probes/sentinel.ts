import type { Socket } from 'node:net';
import type { Connect } from './exchange.ts';
import { limitReads, openKeptSocket, readLimitOf } from './kept-socket.ts';
import type { ProbeAddress } from './types.ts';

/**
 * Holds one idle connection to a service, because the kernel closes it the moment that the process dies. It does not
 * judge: a close can also mean that the server tidies up, so the callback has to probe.
 */
export class Sentinel {
  readonly #onClosed: () => void;
  readonly #connect: Connect | undefined;
  #socket: Socket | undefined;

  /** `onClosed` is called once for each connection that the other side closed, reset or did not take. */
  constructor(onClosed: () => void, connect?: Connect) {
    this.#onClosed = onClosed;
    this.#connect = connect;
  }

  /** Whether a connection stands. */
  get connected(): boolean {
    return this.#socket?.readyState === 'open';
  }

  /** Connects, unless a connection is held or under way. */
  hold(target: ProbeAddress): void {
    if (this.#socket) {
      readLimitOf(this.#socket)?.rest();
      return;
    }
    const socket = openKeptSocket(target, this.#connect);
    this.#socket = socket;
    const lose = () => {
      socket.destroy();
      if (this.#socket !== socket) return;
      this.#socket = undefined;
      this.#onClosed();
    };
    // Whichever comes first; reading is what makes the end of the stream known.
    socket.on('error', lose).on('end', lose).on('close', lose);
    limitReads(socket);
  }

  /** Closes the connection, if any, without calling back. */
  release(): void {
    const socket = this.#socket;
    this.#socket = undefined;
    socket?.destroy();
  }
}
