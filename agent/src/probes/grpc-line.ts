import { callGrpc, type GrpcConnection, openGrpcConnection } from './grpc-call.ts';
import { type Answer, createProbe } from './probe.ts';
import type { FoundFile } from './probe-paths.ts';
import { Sentinel } from './sentinel.ts';
import type { Line, OpenLine, Probe, ProbeAddress, ProbeResult, ProbeTools } from './types.ts';

/** Whoever took the place of the process that answers is noticed within so many rounds. */
const FRESH_EVERY_ROUNDS = 10;

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
  judge(message: Uint8Array): Answer;
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
  readonly #paths: ProbeTools['paths'];
  readonly #onLost: () => void;
  readonly #probe: Probe;
  /** For the time between the loss of a connection and the next call. */
  readonly #idle: Sentinel;
  #kept: GrpcConnection | undefined;
  /** The socket file, if it is one, to which the connections are made. */
  #found: FoundFile | undefined;
  #asking = false;

  constructor(check: GrpcCheck, { clock, paths }: ProbeTools, onLost: () => void) {
    this.#check = check;
    this.#paths = paths;
    this.#onLost = onLost;
    this.#idle = new Sentinel(onLost);
    this.#probe = createProbe(check.protocol, clock, (target, signal) => this.#attempt(target, signal));
  }

  async ask(target: ProbeAddress, signal: AbortSignal, fresh: boolean): Promise<ProbeResult> {
    if (fresh) this.#drop();
    this.#asking = true;
    try {
      return await this.#probe(target, signal);
    } finally {
      this.#asking = false;
    }
  }

  hold(target: ProbeAddress): void {
    if (this.#kept) this.#idle.release();
    else if (!('path' in target)) this.#idle.hold(target);
    else if (this.#found) this.#idle.hold({ path: this.#found.path });
  }

  release(): void {
    this.#found = undefined;
    this.#drop();
    this.#idle.release();
  }

  async #attempt(target: ProbeAddress, signal: AbortSignal): Promise<Answer> {
    let address = target;
    if ('path' in target) {
      const found = await this.#paths.findSocket(target.path, signal);
      if ('says' in found) return found;
      // Who replaced the file cut off those who still have a connection.
      if (found.id !== this.#found?.id) this.release();
      this.#found = found;
      address = { path: found.path };
    }
    const reused = this.#kept;
    if (!reused) return await this.#call(this.#connect(address), signal);
    try {
      return await this.#call(reused, signal);
    } catch (error) {
      // The server may have closed the kept connection at that very moment: that says nothing about it.
      if (signal.aborted) throw error;
      return await this.#call(this.#connect(address), signal);
    }
  }

  async #call(connection: GrpcConnection, signal: AbortSignal): Promise<Answer> {
    const { method, message, judge, explain } = this.#check;
    try {
      const reply = await callGrpc(connection, method, message, signal);
      if ('other' in reply) {
        this.#drop();
        return { healthy: false, says: reply.other };
      }
      if (reply.status === 0) return tryJudge(judge, reply.message);
      const name = STATUS_NAMES[reply.status] ?? `gRPC status ${reply.status}`;
      return { healthy: false, says: `${explain[name] ?? 'answered with an error'} (${name})` };
    } catch (error) {
      this.#drop();
      throw error;
    }
  }

  #connect(address: ProbeAddress): GrpcConnection {
    const connection = openGrpcConnection(address, () => this.#lost(connection));
    this.#kept = connection;
    return connection;
  }

  #lost(connection: GrpcConnection): void {
    if (this.#kept !== connection) return;
    this.#kept = undefined;
    // Who is asking finds out by itself.
    if (!this.#asking) this.#onLost();
  }

  #drop(): void {
    const kept = this.#kept;
    this.#kept = undefined;
    kept?.session.destroy();
    kept?.socket.destroy();
  }
}

function tryJudge(judge: GrpcCheck['judge'], message: Uint8Array): Answer {
  try {
    return judge(message);
  } catch {
    return { healthy: false, says: 'answered with a message that cannot be read' };
  }
}
