import { callGrpc } from './grpc-call.ts';
import { Http2Connection } from './http2-connection.ts';
import { FRESH_EVERY_ROUNDS, KeptConnection } from './kept-connection.ts';
import { createProbe, type ProbeAnswer } from './probe.ts';
import { SocketFile } from './socket-file.ts';
import type { Line, OpenLine, Probe, ProbeAddress, ProbeResult, ProbeTools } from './types.ts';

const STATUS_NAMES = [
  'OK CANCELLED UNKNOWN INVALID_ARGUMENT DEADLINE_EXCEEDED NOT_FOUND ALREADY_EXISTS PERMISSION_DENIED',
  'RESOURCE_EXHAUSTED FAILED_PRECONDITION ABORTED OUT_OF_RANGE UNIMPLEMENTED INTERNAL UNAVAILABLE DATA_LOSS',
  'UNAUTHENTICATED',
].flatMap((names) => names.split(' '));

/** A method that tells whether a server is well. */
export type GrpcCheck = {
  protocol: string;
  method: string;
  message: Uint8Array;
  /** What the message says that came with the status OK. May throw when it is not what it should be. */
  judge(message: Uint8Array): ProbeAnswer;
  /** What another status says, where that is known. */
  explain: Readonly<Record<string, string>>;
};

/** Calls over the connection that is held where there is one; the kernel closes it the moment that the process dies. */
export function grpcLine(check: GrpcCheck, tools: ProbeTools): OpenLine {
  return (onLost) => new GrpcLine(check, tools, onLost);
}

class GrpcLine implements Line {
  readonly freshEveryRounds = FRESH_EVERY_ROUNDS;
  readonly #check: GrpcCheck;
  /** The one that is asked, if it is a socket file. */
  readonly #file: SocketFile;
  readonly #probe: Probe;
  readonly #kept: KeptConnection<Http2Connection>;

  constructor(check: GrpcCheck, { clock, paths }: ProbeTools, onLost: () => void) {
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
    const { method, message, judge, explain } = this.#check;
    try {
      const reply = await callGrpc(connection, method, message, signal);
      if (reply.status === 0) return tryJudge(judge, reply.message);
      const name = STATUS_NAMES[reply.status] ?? `gRPC status ${reply.status}`;
      return { healthy: false, says: `${explain[name] ?? 'answered with an error'} (${name})` };
    } catch (error) {
      this.#kept.drop();
      throw error;
    }
  }

  #connect(address: ProbeAddress): Http2Connection {
    const connection = new Http2Connection(address, () => this.#kept.lost(connection));
    this.#kept.keep(connection);
    return connection;
  }
}

function tryJudge(judge: GrpcCheck['judge'], message: Uint8Array): ProbeAnswer {
  try {
    return judge(message);
  } catch {
    return { healthy: false, says: 'answered with a message that cannot be read' };
  }
}
