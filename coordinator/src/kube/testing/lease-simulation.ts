import type { Clock } from '@rollcall/common/clock.ts';
import { CodedError } from '@rollcall/common/coded-error.ts';
import type { FakeClock } from '@rollcall/common/fake-clock.ts';
import { type KubeClient, type KubeRequest, KubeStatusError } from '../client.ts';
import type { Lease } from '../lease-record.ts';
import type { ObjectMeta } from '../objects.ts';

/** For tests of the election: a Lease kept in memory, and machines that reach it over a bad network. */

type StoredEvent = { type: 'ADDED' | 'MODIFIED' | 'DELETED'; object: Lease };

/** The Lease as an API server keeps it: versions, compare-and-swap, a history for watches. */
export class LeaseServer {
  #lease: Lease | undefined;
  #revision = 100;
  #compactedTo = 0;
  #history: StoredEvent[] = [];
  readonly #watchers = new Set<(event: StoredEvent) => void>();

  get lease(): Lease | undefined {
    return this.#lease;
  }

  /** What a person does with kubectl. */
  edit(change: (lease: Lease) => void): void {
    if (!this.#lease) return;
    const copy = structuredClone(this.#lease);
    change(copy);
    this.#write('MODIFIED', copy);
  }

  delete(): void {
    if (!this.#lease) return;
    this.#write('DELETED', structuredClone(this.#lease));
    this.#lease = undefined;
  }

  /** Forgets the history, so that a watch that resumes is told to list. */
  compact(): void {
    this.#compactedTo = this.#revision;
    this.#history = [];
  }

  answer(request: KubeRequest): unknown {
    if (request.method === 'PATCH') {
      if (!this.#lease)
        this.#write('ADDED', { metadata: { ...identityOf(request), uid: `uid-${this.#revision}` }, spec: {} });
      return this.#lease;
    }
    if (request.method === 'PUT') return this.#replace(request.body as Lease);
    if (request.query?.['limit'] !== undefined) {
      return { metadata: { resourceVersion: String(this.#revision) }, items: this.#lease ? [this.#lease] : [] };
    }
    if (!this.#lease) throw refusal(404, 'NotFound');
    return this.#lease;
  }

  /** Calls `onEvent` for what came after `version`, and from then on. */
  watch(version: string, onEvent: (event: StoredEvent) => void): () => void {
    if (Number(version) < this.#compactedTo) throw refusal(410, 'Expired');
    const missed = this.#history.filter(({ object }) => Number(object.metadata.resourceVersion) > Number(version));
    for (const event of missed) onEvent(event);
    this.#watchers.add(onEvent);
    return () => this.#watchers.delete(onEvent);
  }

  #replace(body: Lease): Lease {
    const current = this.#lease;
    const { uid, resourceVersion } = body.metadata;
    if (!current || uid !== current.metadata.uid || resourceVersion !== current.metadata.resourceVersion) {
      throw refusal(409, 'Conflict');
    }
    // As the API server does: what changes nothing is not written.
    if (JSON.stringify([body.metadata, body.spec]) === JSON.stringify([current.metadata, current.spec])) return current;
    return this.#write('MODIFIED', structuredClone(body));
  }

  #write(type: StoredEvent['type'], lease: Lease): Lease {
    this.#revision += 1;
    const metadata = { ...lease.metadata, resourceVersion: String(this.#revision) } as ObjectMeta;
    this.#lease = { ...lease, metadata };
    const event = { type, object: this.#lease };
    this.#history.push(event);
    for (const tell of this.#watchers) tell(event);
    return this.#lease;
  }
}

function identityOf(request: KubeRequest): { name: string; resourceVersion: string } {
  return { name: request.path.split('/').at(-1) ?? '', resourceVersion: '' };
}

function refusal(status: number, reason: string): KubeStatusError {
  return new KubeStatusError(status, { reason }, undefined, {});
}

/** How a machine is connected, which a test changes as it goes. */
export type Network = {
  /** Nothing goes through; what is under way is lost, except for streams, which TCP delivers later. */
  partitioned: boolean;
  /** Milliseconds one way. */
  latency: () => number;
  /** In [0, 1): how often a request fails before it is done, and how often after. */
  failsBefore: number;
  failsAfter: number;
};

/** One replica's machine: its clocks, its network, and whether its process runs. */
export class Machine {
  readonly network: Network;
  readonly clock: Clock;
  readonly #world: FakeClock;
  readonly #server: LeaseServer;
  readonly #random: () => number;
  readonly #afterStep: () => void;
  #wallOffsetMs = 0;
  #paused = false;
  #dead = false;
  #held: (() => void)[] = [];
  readonly #streams = new Set<{ cut: () => void; flush: () => void }>();

  /** `rate` is how fast its monotonic clock runs; `afterStep` is called whenever its process has done something. */
  constructor(options: {
    world: FakeClock;
    server: LeaseServer;
    network: Network;
    random: () => number;
    rate: number;
    afterStep: () => void;
  }) {
    this.#world = options.world;
    this.#server = options.server;
    this.#random = options.random;
    this.#afterStep = options.afterStep;
    this.network = options.network;
    const { rate } = options;
    this.clock = {
      now: () => Math.round(this.#world.now() + this.#wallOffsetMs),
      monotonic: () => this.#world.monotonic() * rate,
      after: (delayMs, callback) => {
        let cancelled = false;
        const cancel = this.#world.after(delayMs / rate, () => this.#step(() => cancelled || callback()));
        return () => {
          cancelled = true;
          cancel();
        };
      },
    };
  }

  get isDead(): boolean {
    return this.#dead;
  }

  jumpWallClock(deltaMs: number): void {
    this.#wallOffsetMs += deltaMs;
  }

  /** SIGKILL. What it has sent is sent. */
  kill(): void {
    this.#dead = true;
    this.#held = [];
  }

  /** SIGSTOP: timers and answers wait, and the clocks go on. */
  pause(): void {
    this.#paused = true;
  }

  /** SIGCONT. What waited comes in any order. */
  resume(): void {
    this.#paused = false;
    const held = this.#held.map((run) => ({ run, rank: this.#random() })).sort((a, b) => a.rank - b.rank);
    this.#held = [];
    for (const { run } of held) this.#world.after(0, () => this.#step(run));
  }

  cutStreams(): void {
    for (const stream of [...this.#streams]) stream.cut();
  }

  heal(): void {
    this.network.partitioned = false;
    for (const stream of [...this.#streams]) stream.flush();
  }

  readonly client: KubeClient = {
    request: (request) => this.#request(request),
    stream: (request, onObject) => this.#stream(request, onObject),
    close: () => {},
  };

  /** Runs something of the process: now, when it is resumed, or never. */
  #step(run: () => void): void {
    if (this.#dead) return;
    if (this.#paused) {
      this.#held.push(run);
      return;
    }
    run();
    this.#afterStep();
  }

  #request<T>(request: KubeRequest): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const unreachable = (why: string) => reject(new CodedError('KUBE_UNREACHABLE', why));
      this.clock.after(request.timeoutMs, () => unreachable('timed out'));
      request.signal?.addEventListener('abort', () => unreachable('aborted'));
      this.#world.after(this.network.latency(), () => {
        if (this.network.partitioned) return;
        if (this.#random() < this.network.failsBefore) return this.#reply(() => reject(refusal(500, 'InternalError')));
        let result: unknown;
        try {
          result = this.#server.answer(request);
        } catch (err) {
          return this.#reply(() => reject(err));
        }
        if (this.#random() < this.network.failsAfter) return this.#reply(() => unreachable('reset'));
        this.#reply(() => resolve(structuredClone(result) as T));
      });
    });
  }

  #reply(deliver: () => void): void {
    this.#world.after(this.network.latency(), () => {
      if (!this.network.partitioned) this.#step(deliver);
    });
  }

  #stream(request: Parameters<KubeClient['stream']>[0], onObject: (object: unknown) => void): Promise<void> {
    return new Promise((resolve, reject) => {
      let open = true;
      let lastAt = 0;
      const waiting: unknown[] = [];
      let unwatch = () => {};
      const end = (how: () => void) => {
        if (!open) return;
        open = false;
        unwatch();
        this.#streams.delete(stream);
        this.#step(how);
      };
      const deliver = () => {
        if (!open || this.network.partitioned) return;
        const events = waiting.splice(0);
        this.#step(() => {
          for (const event of events) onObject(structuredClone(event));
        });
      };
      const send = (event: unknown) => {
        waiting.push(event);
        lastAt = Math.max(lastAt, this.#world.monotonic() + this.network.latency());
        this.#world.after(lastAt - this.#world.monotonic(), deliver);
      };
      const stream = {
        cut: () => end(() => reject(new CodedError('KUBE_UNREACHABLE', 'cut'))),
        flush: () => this.#world.after(this.network.latency(), deliver),
      };
      this.#streams.add(stream);
      request.signal?.addEventListener('abort', () => end(resolve));
      this.#world.after(this.network.latency(), () => {
        if (this.network.partitioned) return stream.cut();
        try {
          unwatch = this.#server.watch(request.query?.['resourceVersion'] ?? '0', send);
          this.#step(() => request.onOpen?.());
        } catch (err) {
          end(() => reject(err));
        }
      });
    });
  }
}

/** The same numbers for the same seed (mulberry32). */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
