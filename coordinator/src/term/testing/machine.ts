import { CodedError } from '@rollcall/common/coded-error.ts';
import type { FakeClock } from '@rollcall/common/testing/fake-clock.ts';
import { FakeProcess } from '@rollcall/common/testing/fake-process.ts';
import { type KubeClient, type KubeRequest, KubeStatusError } from '../../kube/client.ts';

type StreamRequest = Parameters<KubeClient['stream']>[0];

/** A server that answers at once, from memory. Neither it nor its callers change the objects that it returns. */
export type MemoryServer = {
  /** Throws KubeStatusError. */
  answer(request: KubeRequest): unknown;
  /**
   * Calls `onEvent` for what came after the version that the request names, and from then on until the function that it
   * returns is called. Throws KubeStatusError.
   */
  watch(request: StreamRequest, onEvent: (event: object) => void): () => void;
};

/** How a machine is connected, which a test changes as it goes. */
export type Network = {
  /** All traffic is lost, also requests under way, except for streams, which TCP delivers later. */
  partitioned: boolean;
  /** Milliseconds one way. */
  latency: () => number;
  /** Probability, in [0, 1), that a request fails before it is done; `failsAfter` is the same for after it is done. */
  failsBefore: number;
  failsAfter: number;
  /** The status of a failure before it is done; defaults to 500. */
  status?: number;
  /** How much later than its time a watch tells, in milliseconds; defaults to 0. */
  lag?: () => number;
};

/** One replica's machine: its process, and how it reaches the API server. */
export class Machine extends FakeProcess {
  readonly network: Network;
  readonly #world: FakeClock;
  readonly #server: MemoryServer;
  readonly #chance: () => number;
  readonly #streams = new Set<{ cut: () => void; flush: () => void }>();

  /** `rate` is how fast its monotonic clock runs; `afterStep` is called whenever its process has done something. */
  constructor(options: {
    world: FakeClock;
    server: MemoryServer;
    network: Network;
    random: () => number;
    rate: number;
    afterStep: () => void;
  }) {
    super(options);
    this.#world = options.world;
    this.#server = options.server;
    this.#chance = options.random;
    this.network = options.network;
  }

  cutStreams(): void {
    for (const stream of [...this.#streams]) stream.cut();
  }

  get openStreams(): number {
    return this.#streams.size;
  }

  heal(): void {
    this.network.partitioned = false;
    for (const stream of [...this.#streams]) stream.flush();
  }

  /** Stops, and its kernel resets every connection. */
  override kill(): void {
    super.kill();
    this.cutStreams();
  }

  readonly client: KubeClient = {
    request: (request) => this.#request(request),
    stream: (request, onObject) => this.#stream(request, onObject),
    close: () => {},
  };

  #request<T>(request: KubeRequest): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    if (this.isDead) return promise;
    let cancel = () => {};
    const settle = (how: () => void) => {
      cancel();
      request.signal?.removeEventListener('abort', abort);
      how();
    };
    const unreachable = (why: string) => settle(() => reject(new CodedError('KUBE_UNREACHABLE', why)));
    const abort = () => unreachable('aborted');
    cancel = this.clock.after(request.timeoutMs, () => unreachable('timed out'));
    request.signal?.addEventListener('abort', abort, { once: true });
    this.#world.after(this.network.latency(), () => {
      if (this.network.partitioned) return;
      const { failsBefore, failsAfter, status = 500 } = this.network;
      if (failsBefore > 0 && this.#chance() < failsBefore) {
        return this.#reply(() => settle(() => reject(new KubeStatusError(status, { code: status }, undefined, {}))));
      }
      let result: unknown;
      try {
        result = this.#server.answer(request);
      } catch (err) {
        return this.#reply(() => settle(() => reject(err)));
      }
      if (failsAfter > 0 && this.#chance() < failsAfter) return this.#reply(() => unreachable('reset'));
      this.#reply(() => settle(() => resolve(result as T)));
    });
    return promise;
  }

  #reply(deliver: () => void): void {
    this.#world.after(this.network.latency(), () => {
      if (!this.network.partitioned) this.step(deliver);
    });
  }

  #stream(request: StreamRequest, onObject: (object: unknown) => void): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    if (this.isDead) return promise;
    let open = true;
    let lastAt = 0;
    const waiting: unknown[] = [];
    let unwatch = () => {};
    let cancelIdle = () => {};
    const end = (how: () => void) => {
      if (!open) return;
      open = false;
      unwatch();
      cancelIdle();
      request.signal?.removeEventListener('abort', abort);
      this.#streams.delete(stream);
      this.step(how);
    };
    const abort = () => end(resolve);
    const { idleTimeoutMs } = request;
    const silent = () =>
      end(() => reject(new CodedError('KUBE_UNREACHABLE', 'The watch was silent', { fields: { idleTimeoutMs } })));
    const noteContact = () => {
      cancelIdle();
      cancelIdle = this.clock.after(idleTimeoutMs, silent);
    };
    const deliver = () => {
      if (!open || this.network.partitioned) return;
      const events = waiting.splice(0);
      if (events.length === 0) return;
      this.step(() => {
        if (!open) return;
        noteContact();
        try {
          for (const event of events) onObject(event);
        } catch (err) {
          end(() => reject(err));
        }
      });
    };
    const send = (event: unknown) => {
      waiting.push(event);
      const { latency, lag } = this.network;
      lastAt = Math.max(lastAt, this.#world.monotonic() + latency() + (lag?.() ?? 0));
      this.#world.after(lastAt - this.#world.monotonic(), deliver);
    };
    const stream = {
      cut: () => end(() => reject(new CodedError('KUBE_UNREACHABLE', 'cut'))),
      flush: () => this.#world.after(this.network.latency(), deliver),
    };
    this.#streams.add(stream);
    request.signal?.addEventListener('abort', abort, { once: true });
    this.#world.after(this.network.latency(), () => {
      if (!open) return;
      if (this.network.partitioned) return stream.cut();
      try {
        unwatch = this.#server.watch(request, send);
        this.step(() => {
          if (!open) return;
          noteContact();
          request.onOpen?.();
        });
      } catch (err) {
        end(() => reject(err));
      }
      // The API server ends a watch when its time is over.
      const seconds = Number(request.query?.['timeoutSeconds'] ?? Number.NaN);
      if (Number.isFinite(seconds)) this.#world.after(seconds * 1000, () => end(resolve));
    });
    return promise;
  }
}
