import type { Line, OpenLine, ProbeAddress, ProbeResult } from './types.ts';

/** The host that stands for the loopback addresses of both families: a service may listen on one of them alone. */
export const LOOPBACK_HOST = 'localhost';

const ADDRESSES = ['127.0.0.1', '::1'];

/** The line to a service on either loopback address: to the one that answered last, and to the other if that refuses. */
export function loopbackLine(openLine: OpenLine): OpenLine {
  return (onLost) => new LoopbackLine(ADDRESSES.map((host) => ({ host, line: openLine(onLost) })));
}

/** `node:net` tries several addresses by itself, but ends the process where TLS is opened over such a socket. */
class LoopbackLine implements Line {
  /** The one that answered last comes first. */
  #sides: readonly { host: string; line: Line }[];

  constructor(sides: readonly { host: string; line: Line }[]) {
    this.#sides = sides;
  }

  get freshEveryRounds(): number {
    return this.#sides[0]?.line.freshEveryRounds ?? 1;
  }

  async ask(target: ProbeAddress, signal: AbortSignal, fresh: boolean): Promise<ProbeResult> {
    let first: ProbeResult | undefined;
    for (const side of this.#sides) {
      const result = await side.line.ask({ ...target, host: side.host }, signal, fresh);
      first ??= result;
      if (result.verdict === 'healthy' && side !== this.#sides[0]) {
        this.release();
        this.#sides = [side, ...this.#sides.filter((other) => other !== side)];
      }
      if (result.verdict === 'healthy') return result;
      if (result.verdict !== 'hard') break;
    }
    return first ?? { verdict: 'unknown', evidence: 'not probed' };
  }

  hold(target: ProbeAddress): void {
    const [side] = this.#sides;
    side?.line.hold({ ...target, host: side.host });
  }

  release(): void {
    for (const { line } of this.#sides) line.release();
  }
}
