import type { ProbeAnswer } from './probe.ts';
import type { FoundFile, ProbePaths } from './probe-paths.ts';
import type { ProbeAddress } from './types.ts';

/** The socket file that a line asks. Its handle is open from a look until the line has connected or let go. */
export class SocketFile {
  readonly #paths: Pick<ProbePaths, 'findSocket'>;
  #found: FoundFile | undefined;
  #lastId: string | undefined;

  constructor(paths: Pick<ProbePaths, 'findSocket'>) {
    this.#paths = paths;
  }

  /** The path to connect to; `undefined` while no handle is open. */
  get address(): ProbeAddress | undefined {
    return this.#found && { path: this.#found.path };
  }

  /** Opens what is at the path now; `isOther`: it is not the file of the look before. */
  async open(path: string, signal: AbortSignal): Promise<{ address: ProbeAddress; isOther: boolean } | ProbeAnswer> {
    this.close();
    const found = await this.#paths.findSocket(path, signal);
    if ('says' in found) return found;
    // It came in the same moment in which the line was let go.
    if (signal.aborted) {
      found.close();
      throw signal.reason;
    }
    const isOther = found.id !== this.#lastId;
    this.#found = found;
    this.#lastId = found.id;
    return { address: { path: found.path }, isOther };
  }

  close(): void {
    this.#found?.close();
    this.#found = undefined;
  }

  /** The next look is the first one again. */
  forget(): void {
    this.close();
    this.#lastId = undefined;
  }
}
