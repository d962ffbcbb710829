import { exchange } from './exchange.ts';
import { createProbe, type ProbeAnswer } from './probe.ts';
import { Sentinel } from './sentinel.ts';
import { SocketFile } from './socket-file.ts';
import type { Line, Probe, ProbeAddress, ProbeKind, ProbeResult, ProbeTools } from './types.ts';

/** As for TCP: a full queue of connections shows in a new one alone. */
const FRESH_EVERY_ROUNDS = 5;

/**
 * Asks for a connection to a socket file. The idle connection is taken for an answer as long as the file at the path is
 * the one that it was made to: who deletes or replaces it cuts off those who still have a connection.
 */
class UnixLine implements Line {
  readonly freshEveryRounds = FRESH_EVERY_ROUNDS;
  readonly #file: SocketFile;
  readonly #sentinel: Sentinel;
  readonly #probe: Probe;
  #fresh = true;

  constructor({ clock, paths }: ProbeTools, onLost: () => void) {
    this.#file = new SocketFile(paths);
    this.#sentinel = new Sentinel(onLost);
    this.#probe = createProbe('unix', clock, (target, signal) => this.#attempt(target, signal));
  }

  ask(target: ProbeAddress, signal: AbortSignal, fresh: boolean): Promise<ProbeResult> {
    this.#fresh = fresh;
    return this.#probe(target, signal);
  }

  hold(): void {
    const { address } = this.#file;
    if (address) this.#sentinel.hold(address);
    this.#file.close();
  }

  release(): void {
    this.#file.forget();
    this.#sentinel.release();
  }

  async #attempt(target: ProbeAddress, signal: AbortSignal): Promise<ProbeAnswer> {
    const opened = await this.#file.open('path' in target ? target.path : '', signal);
    if ('says' in opened) return opened;
    if (opened.isOther) this.#sentinel.release();
    if (this.#fresh || !this.#sentinel.connected) await exchange(opened.address, signal);
    return { healthy: true, says: 'accepted the connection' };
  }
}

/**
 * Healthy when a socket file takes a connection, also from a process that hangs: use `grpc` or `csi` where that
 * matters.
 */
export const unix: ProbeKind<{ path: string }> = {
  kind: 'unix',
  pathOf: ({ path }) => path,
  prepare: (_spec, tools) => (onLost) => new UnixLine(tools, onLost),
};
