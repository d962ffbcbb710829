import { silentLogger } from '@rollcall/common/logging.ts';
import { FakeClock } from '@rollcall/common/testing/fake-clock.ts';
import { expect } from 'vitest';
import type { Election } from '../election.ts';
import { createLeaseElection } from '../lease.ts';
import { LeaseServer, seededRandom } from './lease-simulation.ts';
import { Machine, type Network } from './machine.ts';

export type Candidate = {
  identity: string;
  machine: Machine;
  election: Election;
  stop: AbortController;
  terms: number[];
  leaders: (string | undefined)[];
  events: string[];
  running: Promise<void>;
};

/** Candidates around one Lease, and what must hold whatever happens to them. */
export class World {
  readonly clock = new FakeClock();
  readonly server = new LeaseServer();
  readonly random: () => number;
  readonly terms: number[] = [];
  readonly violations: string[] = [];
  candidates: Candidate[] = [];
  /** Monotonic time before which no candidate may start, since it could not know of a deleted Lease. */
  noBirthsBefore = 0;
  #born = 0;

  constructor(seed: number) {
    this.random = seededRandom(seed);
  }

  between(min: number, max: number): number {
    return min + this.random() * (max - min);
  }

  pick<T>(list: readonly T[]): T | undefined {
    return list[Math.floor(this.random() * list.length)];
  }

  add(network: Partial<Network> = {}, rate = 1): Candidate {
    this.#born += 1;
    const identity = `replica_${this.#born}`;
    const machine = new Machine({
      world: this.clock,
      server: this.server,
      network: { partitioned: false, latency: () => 5, failsBefore: 0, failsAfter: 0, ...network },
      random: this.random,
      rate,
      // The work of the process continues in promises: check when they have settled.
      afterStep: () => this.clock.after(0, () => this.check()),
    });
    const stop = new AbortController();
    const terms: number[] = [];
    const leaders: (string | undefined)[] = [];
    const events: string[] = [];
    const election = createLeaseElection({
      client: machine.client,
      namespace: 'rollcall',
      name: 'rollcall-coordinator',
      identity,
      leaderUrl: `https://${identity}`,
      clock: machine.clock,
      random: this.random,
      signal: stop.signal,
      logger: silentLogger(),
      callbacks: {
        onStartedLeading: (term) => {
          terms.push(term);
          this.terms.push(term);
          events.push('started');
        },
        onStoppedLeading: () => events.push('stopped'),
        onLeaderChanged: (url) => {
          leaders.push(url);
          events.push(`${url ?? 'no replica'} leads`);
        },
      },
    });
    const candidate = { identity, machine, election, stop, terms, leaders, events, running: election.run() };
    this.candidates.push(candidate);
    return candidate;
  }

  kill(candidate: Candidate): void {
    candidate.machine.kill();
    this.candidates = this.candidates.filter((each) => each !== candidate);
  }

  leaders(): Candidate[] {
    return this.candidates.filter(({ election }) => election.remainingMs() > 0);
  }

  check(): void {
    // A machine that is suspended sends nothing, whatever its clock says.
    const leaders = this.leaders().filter(({ machine }) => !machine.isSuspended);
    if (leaders.length < 2) return;
    this.violations.push(`at ${this.clock.monotonic()} ms: ${leaders.map(({ identity }) => identity).join(' and ')}`);
  }

  async until(condition: () => boolean, limitMs: number): Promise<number> {
    const startedAt = this.clock.monotonic();
    while (!condition() && this.clock.monotonic() - startedAt < limitMs) await this.clock.advance(10);
    expect(condition(), `within ${limitMs} ms`).toBe(true);
    return this.clock.monotonic() - startedAt;
  }

  /** One leader and one standby, which has seen it renew. */
  async settled(): Promise<[leader: Candidate, standby: Candidate]> {
    const leader = this.add();
    await this.until(() => leader.election.isLeading(), 1000);
    const standby = this.add();
    await this.clock.advance(10_000);
    return [leader, standby];
  }
}
