import { exchange } from './exchange.ts';
import { type Answer, createProbe } from './probe.ts';
import type { FoundFile } from './probe-paths.ts';
import { Sentinel } from './sentinel.ts';
import type { Line, Probe, ProbeAddress, ProbeKind, ProbeResult, ProbeTools } from './types.ts';

/** As for TCP: a full queue of connections shows in a new one alone. */
const FRESH_EVERY_ROUNDS = 5;

/**
 * Asks for a connection to a socket file. The idle connection is taken for an answer as long as the file at the path is
 * the one that it was made to: who deletes or replaces it cuts off those who still have a connection.
 */
class UnixLine implements Line {
  readonly freshEveryRounds = FRESH_EVERY_ROUNDS;
  readonly #paths: ProbeTools['paths'];
  readonly #sentinel: Sentinel;
  readonly #probe: Probe;
  #found: FoundFile | undefined;
  #fresh = true;

  constructor({ clock, paths }: ProbeTools, onLost: () => void) {
    this.#paths = paths;
    this.#sentinel = new Sentinel(onLost);
    this.#probe = createProbe('unix', clock, (target, signal) => this.#attempt(target, signal));
  }

  ask(target: ProbeAddress, signal: AbortSignal, fresh: boolean): Promise<ProbeResult> {
    this.#fresh = fresh;
    return this.#probe(target, signal);
  }

  hold(): void {
    if (this.#found) this.#sentinel.hold({ path: this.#found.path });
  }

  release(): void {
    this.#found = undefined;
    this.#sentinel.release();
  }

  async #attempt(target: ProbeAddress, signal: AbortSignal): Promise<Answer> {
    const found = await this.#paths.findSocket('path' in target ? target.path : '', signal);
    if ('says' in found) return found;
    if (found.id !== this.#found?.id) this.#sentinel.release();
    this.#found = found;
    if (this.#fresh || !this.#sentinel.connected) await exchange({ path: found.path }, signal);
    return { healthy: true, says: 'accepted the connection' };
  }
}

/**
 * Healthy when a socket file takes a connection, also from a process that hangs: use `grpc` or `csi` where that
 * matters.
 */
export const unix: ProbeKind = {
  kind: 'unix',
  pathOf: ({ path = '' }) => path,
  prepare: (_spec, tools) => (onLost) => new UnixLine(tools, onLost),
};
