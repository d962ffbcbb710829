import { computed, signal } from '@preact/signals';
import type { Clock } from '@rollcall/common/clock.ts';
import type { ReplicaDocument } from '@rollcall/common/console.ts';
import { Connection, type Listener, type Loss } from '../link/connection.ts';
import { Fleet } from '../model/fleet.ts';
import { ReadinessHistory } from '../model/readiness-history.ts';
import { routeOf } from '../model/route.ts';

/** Whether what is shown is what is. */
export type LinkState = { state: 'connecting' } | { state: 'live' } | ({ state: 'lost' } & Loss);

const SECOND_MS = 1000;
/** In a tab that is not seen no frames are drawn, but its title is read. */
const HIDDEN_FLUSH_MS = 500;

/**
 * The data of every view. News is taken in as it comes; views are notified once a frame with the names of the nodes
 * that changed.
 */
export class Store {
  readonly fleet = new Fleet();
  readonly history = new ReadinessHistory();
  readonly clock: Clock;
  readonly link = signal<LinkState>({ state: 'connecting' });
  readonly replica = signal<Omit<ReplicaDocument, 'now'> | undefined>(undefined);
  readonly route = signal(routeOf(location.hash));
  /** Goes on with every second. */
  readonly nowMs = signal(Date.now());
  /** Grows whenever something of the fleet changed. */
  readonly version = signal(0);
  /** The nodes that changed with the last version. */
  changed: ReadonlySet<string> = new Set();
  /** Whether anything was heard of the fleet yet. */
  readonly isKnown = computed(() => this.version.value > 0);
  readonly isStale = computed(() => this.link.value.state === 'lost');
  readonly #connection: Connection;
  #changing = new Set<string>();
  #isScheduled = false;

  constructor(clock: Clock) {
    this.clock = clock;
    this.#connection = new Connection(clock, this.#listener());
  }

  /** Goes on until the signal. */
  run(ending: AbortSignal): void {
    addEventListener('hashchange', () => this.#onHash(), { signal: ending });
    addEventListener('online', () => this.#connection.hurry(), { signal: ending });
    const timer = setInterval(() => this.#everySecond(), SECOND_MS);
    ending.addEventListener('abort', () => clearInterval(timer));
    void this.#connection.run(ending);
  }

  /** Tries at once to get the connection back. */
  hurry(): void {
    this.#connection.hurry();
  }

  #onHash(): void {
    this.route.value = routeOf(location.hash);
    scrollTo(0, 0);
  }

  #everySecond(): void {
    this.nowMs.value = this.clock.now();
    this.#sample();
  }

  #sample(): void {
    if (this.link.value.state === 'connecting') return;
    this.history.add(this.clock.now(), this.isStale.value ? null : this.fleet.counts);
  }

  #listener(): Listener {
    return {
      replica: (replica) => {
        this.replica.value = replica;
      },
      nodes: (nodes) => {
        for (const name of this.fleet.replace(nodes)) this.#touch(name);
        for (const { name } of nodes) this.#touch(name);
        this.#flush();
      },
      node: (node) => {
        this.fleet.set(node);
        this.#touch(node.name);
      },
      gone: (name) => {
        this.fleet.delete(name);
        this.#touch(name);
      },
      live: () => {
        if (this.link.value.state !== 'live') this.link.value = { state: 'live' };
      },
      lost: (loss) => {
        this.link.value = { state: 'lost', ...loss };
        this.#sample();
      },
    };
  }

  #touch(name: string): void {
    this.#changing.add(name);
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    if (document.hidden) setTimeout(() => this.#flush(), HIDDEN_FLUSH_MS);
    else requestAnimationFrame(() => this.#flush());
  }

  #flush(): void {
    this.#isScheduled = false;
    this.changed = this.#changing;
    this.#changing = new Set();
    this.#sample();
    this.version.value += 1;
  }
}
