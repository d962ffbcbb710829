import { Http2Connection } from './http2-connection.ts';
import { FRESH_EVERY_ROUNDS, KeptConnection } from './kept-connection.ts';
import { createProbe, type ProbeAnswer } from './probe.ts';
import { SocketFile } from './socket-file.ts';
import type { TlsTrust } from './tls-contexts.ts';
import type { Line, OpenLine, Probe, ProbeAddress, ProbeResult, ProbeTools } from './types.ts';

/** How a server is asked by HTTP/2. */
export type Http2Check = {
  protocol: string;
  /** Asks over TLS; without it in clear text. */
  trust: TlsTrust | undefined;
  /** Asks once. Rejects as `Http2Connection.request` does. */
  ask(connection: Http2Connection, signal: AbortSignal): Promise<ProbeAnswer>;
};

/** Asks over the connection that is held where there is one; the kernel closes it the moment that the process dies. */
export function http2Line(check: Http2Check, tools: ProbeTools): OpenLine {
  return (onLost) => new Http2Line(check, tools, onLost);
}

class Http2Line implements Line {
  readonly freshEveryRounds = FRESH_EVERY_ROUNDS;
  readonly #check: Http2Check;
  /** The one that is asked, if it is a socket file. */
  readonly #file: SocketFile;
  readonly #probe: Probe;
  readonly #kept: KeptConnection<Http2Connection>;

  constructor(check: Http2Check, { clock, paths }: ProbeTools, onLost: () => void) {
    this.#check = check;
    this.#file = new SocketFile(paths);
    this.#kept = new KeptConnection(({ socket }) => socket.destroy(), onLost);
    this.#probe = createProbe(check.protocol, clock, (target, signal) => this.#attempt(target, signal));
  }

  ask(target: ProbeAddress, signal: AbortSignal, fresh: boolean): Promise<ProbeResult> {
    return this.#kept.ask(fresh, () => this.#probe(target, signal));
  }

  hold(target: ProbeAddress): void {
    this.#kept.hold('path' in target ? this.#file.address : target);
    this.#file.close();
  }

  release(): void {
    this.#file.forget();
    this.#kept.release();
  }

  async #attempt(target: ProbeAddress, signal: AbortSignal): Promise<ProbeAnswer> {
    let address = target;
    if ('path' in target) {
      const opened = await this.#file.open(target.path, signal);
      if ('says' in opened) return opened;
      // Who replaced the file cut off those who still have a connection.
      if (opened.isOther) this.#kept.release();
      address = opened.address;
    }
    if (this.#kept.current?.isUsable === false) this.#kept.drop();
    const reused = this.#kept.current;
    if (!reused) return await this.#call(this.#connect(address), signal);
    try {
      return await this.#call(reused, signal);
    } catch (error) {
      // The server may have closed the kept connection at that very moment: that says nothing about it.
      if (signal.aborted) throw error;
      return await this.#call(this.#connect(address), signal);
    }
  }

  async #call(connection: Http2Connection, signal: AbortSignal): Promise<ProbeAnswer> {
    try {
      const answer = await this.#check.ask(connection, signal);
      if (connection.isSpent) this.#kept.drop();
      return answer;
    } catch (error) {
      this.#kept.drop();
      throw error;
    }
  }

  #connect(address: ProbeAddress): Http2Connection {
    const connection = new Http2Connection(address, () => this.#kept.lost(connection), { trust: this.#check.trust });
    this.#kept.keep(connection);
    return connection;
  }
}
