import type { Agent } from 'node:http';
import type { Socket } from 'node:net';
import type { HttpSettings } from '@rollcall/common/checks/kinds/http.ts';
import type { Clock } from '@rollcall/common/clock.ts';
import { judgeStatus } from './http-check.ts';
import { FRESH_EVERY_ROUNDS, KeptConnection } from './kept-connection.ts';
import { readLimitOf } from './kept-socket.ts';
import { createProbe, type ProbeAnswer } from './probe.ts';
import { requestStatus } from './request-status.ts';
import type { Line, OpenLine, Probe, ProbeAddress, ProbeResult } from './types.ts';

/**
 * Asks by GET, over the connection that is held where there is one: a new TLS connection costs several times as much CPU. A
 * server that keeps none is asked over a new one each time, and held by an idle one. Redirects are not followed and no
 * proxy is used, whatever the environment says.
 */
export function httpLine(protocol: 'http' | 'https', check: HttpSettings, agent: Agent, clock: Clock): OpenLine {
  return (onLost) => new HttpLine(protocol, check, agent, clock, onLost);
}

/** That over which the last answer came, while it stands. */
type Kept = { socket: Socket; isFree: boolean };

class HttpLine implements Line {
  readonly freshEveryRounds = FRESH_EVERY_ROUNDS;
  readonly #protocol: 'http' | 'https';
  readonly #check: HttpSettings;
  readonly #agent: Agent;
  readonly #probe: Probe;
  readonly #kept: KeptConnection<Kept>;

  constructor(protocol: 'http' | 'https', check: HttpSettings, agent: Agent, clock: Clock, onLost: () => void) {
    this.#protocol = protocol;
    this.#check = check;
    this.#agent = agent;
    this.#kept = new KeptConnection(({ socket }) => socket.destroy(), onLost);
    this.#probe = createProbe(protocol, clock, (target, signal) => this.#attempt(target, signal));
  }

  ask(target: ProbeAddress, signal: AbortSignal, fresh: boolean): Promise<ProbeResult> {
    return this.#kept.ask(fresh, () => this.#probe(target, signal));
  }

  hold(target: ProbeAddress): void {
    this.#kept.hold(target);
  }

  release(): void {
    this.#kept.release();
  }

  async #attempt(target: ProbeAddress, signal: AbortSignal): Promise<ProbeAnswer> {
    const { current } = this.#kept;
    const reused = current?.isFree === true;
    // One whose last answer has not ended does not serve again.
    if (!reused) this.#kept.drop();
    try {
      return await this.#request(target, signal);
    } catch (error) {
      this.#kept.drop();
      // The server may have closed the kept connection at that very moment: that says nothing about it.
      if (!reused || signal.aborted) throw error;
      return await this.#request(target, signal);
    }
  }

  async #request(target: ProbeAddress, signal: AbortSignal): Promise<ProbeAnswer> {
    const { path = '/', headers = {} } = this.#check;
    const asked = { protocol: this.#protocol, agent: this.#agent, path, headers };
    const { status, socket, ended } = await requestStatus(target, signal, asked);
    if (socket) this.#keep(socket, ended);
    return judgeStatus(status, this.#check);
  }

  #keep(socket: Socket, ended: Promise<void>): void {
    const { current } = this.#kept;
    const isNew = current?.socket !== socket;
    const kept = isNew ? { socket, isFree: false } : current;
    // It may have been closed between the answer and now.
    if (socket.destroyed) return void this.#kept.lost(kept);
    kept.isFree = false;
    if (isNew) {
      this.#kept.keep(kept);
      socket.once('close', () => this.#kept.lost(kept));
    }
    void ended.then(() => {
      readLimitOf(socket)?.rest();
      kept.isFree = true;
    });
  }
}
