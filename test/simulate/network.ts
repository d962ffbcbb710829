import type { HttpAnswer, HttpPost } from '@rollcall/agent/report/http-post.ts';
import type { FakeClock } from '@rollcall/common/testing/fake-clock.ts';
import type { FakeProcess } from '@rollcall/common/testing/fake-process.ts';
import type { SimCoordinator } from './coordinator.ts';
import { knock } from './door.ts';

/** The Service: whichever coordinator listens. */
export const SERVICE_ORIGIN = 'http://127.0.0.10:8443';

const LATENCY_MS = 12;
/** A report that is late arrives after its sender has given it up. */
const LATE_MS_MAX = 12_000;

export type ReportNetworkOptions = {
  world: FakeClock;
  random: () => number;
  coordinators: () => readonly SimCoordinator[];
  onAnswer: (node: string, from: SimCoordinator, answer: HttpAnswer, report: string) => void;
};

/** Between agents and coordinators: it delays, loses, doubles and reorders, and may be cut anywhere. */
export class ReportNetwork {
  readonly #options: ReportNetworkOptions;
  /** In [0, 1): how often that happens to a request, or to an answer. */
  loss = 0;
  doubled = 0;
  late = 0;
  readonly cutNodes = new Set<string>();
  /** Names of coordinators that no agent reaches. */
  readonly cutCoordinators = new Set<string>();
  /** Requests under way. */
  underWay = 0;

  constructor(options: ReportNetworkOptions) {
    this.#options = options;
  }

  heal(): void {
    Object.assign(this, { loss: 0, doubled: 0, late: 0 });
    this.cutNodes.clear();
    this.cutCoordinators.clear();
  }

  /** Posts a report for a process of a node. */
  post(node: string, { url, headers, body, signal }: HttpPost, from: FakeProcess): Promise<HttpAnswer> {
    const { promise, resolve, reject } = Promise.withResolvers<HttpAnswer>();
    const letter = { url, headers, body: body() };
    const give = (how: () => void) => {
      signal.removeEventListener('abort', abort);
      how();
    };
    const abort = () => give(() => reject(signal.reason));
    signal.addEventListener('abort', abort, { once: true });
    const arrive = () => {
      const to = this.#receiver(url);
      if (this.cutNodes.has(node) || (to && this.cutCoordinators.has(to.name))) return;
      const handler = to?.handler;
      if (!to || !handler || to.machine.isDead) {
        const refused = Object.assign(new Error('refused'), { code: 'ECONNREFUSED' });
        return this.#later(() => from.step(() => give(() => reject(refused))));
      }
      to.machine.step(() => {
        void knock(handler, letter).then((answer) => {
          if (to.machine.isDead) return;
          this.#options.onAnswer(node, to, answer, String(letter.body));
          if (this.#happens(this.loss) || this.cutNodes.has(node) || this.cutCoordinators.has(to.name)) return;
          this.#later(() => from.step(() => give(() => resolve(answer))));
        });
      });
    };
    if (this.#happens(this.loss)) return promise;
    const times = this.#happens(this.doubled) ? 2 : 1;
    for (let time = 0; time < times; time += 1) {
      const extraMs = this.#happens(this.late) ? this.#options.random() * LATE_MS_MAX : 0;
      this.#later(arrive, extraMs);
    }
    return promise;
  }

  #receiver(url: string): SimCoordinator | undefined {
    const { coordinators, random } = this.#options;
    if (!url.startsWith(SERVICE_ORIGIN)) return coordinators().find(({ origin }) => url.startsWith(origin));
    const ready = coordinators().filter(({ machine, handler }) => !machine.isDead && handler !== undefined);
    return ready[Math.floor(random() * ready.length)];
  }

  #later(act: () => void, extraMs = 0): void {
    const { world, random } = this.#options;
    this.underWay += 1;
    world.after(1 + random() * LATENCY_MS + extraMs, () => {
      this.underWay -= 1;
      act();
    });
  }

  #happens(share: number): boolean {
    return share > 0 && this.#options.random() < share;
  }
}
