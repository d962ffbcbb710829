import { setTimeout as sleep } from 'node:timers/promises';
import { generator } from '../model/random.ts';
import { eachOf } from '../scale/each-of.ts';
import { withoutRealNodes, withRealNodes } from './cluster.ts';
import { DEEDS, type Deed, putForeign, type Scene, someOf } from './deeds.ts';
import type { Service, SoakNode } from './nodes.ts';
import { Samples } from './samples.ts';
import { Stage } from './stage.ts';
import { type Lie, Truth } from './truth.ts';

/** More falls of one service on one node in five minutes, and it would be held back. */
const FALLS = 2;
const FALLS_MS = 330_000;
const LOOK_MS = 500;
/** A lie that lasts longer is not waited for. */
const LATE_MS = 180_000;
const START_MS = 120_000;
const PROGRESS_MS = 60_000;

export type SoakOptions = {
  seed: number;
  /** Simulated nodes. */
  fleet: number;
  realNodes: boolean;
  /** In this order, without much of a pause. Defaults to all of them in random order until the time is over. */
  deeds?: readonly string[];
  minutes?: number;
  /** Prints lines of progress and of deviations. */
  say: (line: string) => void;
  stopped: Promise<unknown>;
};

/** How often a deed was done, how long until all was true each time, and when it was not in time. */
type Account = { seconds: number[]; lateSeconds: number[] };
export type SoakResult = { deeds: ReadonlyMap<string, Account>; lies: readonly Lie[]; table: string; isGood: boolean };

/** Does deeds to all parts of an installation, and checks after each whether everything that is said of nodes is so. */
export async function soak(options: SoakOptions): Promise<SoakResult> {
  const cluster = await (options.realNodes ? withRealNodes() : withoutRealNodes());
  try {
    const stage = await Stage.open(cluster, options.fleet);
    const run = new Run(stage, options);
    try {
      await run.prepare();
      await run.play();
      return run.result();
    } finally {
      run.stop();
      await stage.stop();
    }
  } finally {
    await cluster.stop();
  }
}

class Run {
  readonly #stage: Stage;
  readonly #truth: Truth;
  readonly #samples: Samples;
  readonly #options: SoakOptions;
  readonly #random: () => number;
  readonly #falls = new Map<string, number[]>();
  readonly #deeds = new Map<string, Account>();
  readonly #lies: Lie[] = [];
  readonly #startedMs = performance.now();
  readonly #failed = new Set<SoakNode>();
  #now = 'preparing';
  /** Current deviations. */
  #open: readonly Lie[] = [];
  #isStopped = false;
  readonly #progress: NodeJS.Timeout;
  readonly #onTrouble = (error: unknown) =>
    this.#lie([{ node: '', what: 'the harness', wanted: '', found: String(error) }]);

  constructor(stage: Stage, options: SoakOptions) {
    this.#stage = stage;
    this.#options = options;
    this.#random = generator(options.seed);
    this.#truth = new Truth(stage.api, stage.nodes);
    for (const { name } of stage.nodes) this.#truth.touched.add(name);
    this.#samples = new Samples(stage);
    this.#progress = setInterval(() => options.say(this.#progressLine()), PROGRESS_MS);
    void options.stopped.then(() => {
      this.#isStopped = true;
    });
    process.on('unhandledRejection', this.#onTrouble);
  }

  async prepare(): Promise<void> {
    const { nodes } = this.#stage;
    await eachOf(nodes, 8, ({ name }) => putForeign(this.#stage, name, 'begin'));
    await this.#truth.remember();
    await this.#converge({ name: 'start', withinSeconds: START_MS / 1000 });
  }

  async play(): Promise<void> {
    const { deeds, minutes = 60 } = this.#options;
    if (deeds) {
      for (const name of deeds) {
        const deed = DEEDS.find((each) => each.name === name);
        if (!deed) throw new Error(`There is no deed "${name}"`);
        if (!this.#isStopped) await this.#round(deed);
      }
      return;
    }
    const untilMs = performance.now() + minutes * 60_000;
    for (let bag: Deed[] = []; performance.now() < untilMs && !this.#isStopped; ) {
      if (bag.length === 0) bag = someOf(DEEDS, DEEDS.length, this.#random);
      const deed = bag.pop();
      if (deed) await this.#round(deed);
    }
  }

  stop(): void {
    clearInterval(this.#progress);
    process.off('unhandledRejection', this.#onTrouble);
    this.#truth.stop();
    this.#samples.stop();
  }

  result(): SoakResult {
    const { lines, grown } = this.#samples.summary();
    const rows = [...this.#deeds].map(([name, { seconds, lateSeconds }]) => {
      const sorted = seconds.toSorted((a, b) => a - b);
      const [middle = 0, longest = 0] = [sorted[Math.floor(sorted.length / 2)], sorted.at(-1)];
      const late =
        lateSeconds.length === 0
          ? ''
          : `  LATE ${lateSeconds.length} times, by up to ${Math.max(...lateSeconds).toFixed(0)} s`;
      return `  ${name.padEnd(56)}${`${seconds.length}`.padStart(4)}${middle.toFixed(1).padStart(8)}${longest.toFixed(1).padStart(8)}${late}`;
    });
    const isGood = this.#lies.length === 0 && grown.length === 0;
    const total = [...this.#deeds.values()].reduce((sum, { seconds }) => sum + seconds.length, 0);
    const verdict = isGood
      ? 'nothing lied, and nothing grew'
      : `${this.#lies.length} lies; grown: ${grown.join(', ') || 'nothing'}`;
    const table = [
      `${total} deeds in ${((performance.now() - this.#startedMs) / 60_000).toFixed(1)} min on ${this.#stage.nodes.length} nodes, seed ${this.#options.seed}; seconds until all was true again: median, longest`,
      ...rows,
      'Of the longest life of each program: first, middle and last third (medians), and what it would be more in an hour',
      ...lines,
      `Verdict: ${verdict}`,
    ].join('\n');
    return { deeds: this.#deeds, lies: this.#lies, table, isGood };
  }

  /** A deed, while services fail and are mended before it and beneath it. */
  async #round(deed: Deed): Promise<void> {
    this.#now = deed.name;
    this.#truth.touched.clear();
    const scene: Scene = {
      ...{ stage: this.#stage, truth: this.#truth, random: this.#random, pace: this.#pace },
      touch: (nodes) => {
        for (const node of nodes) {
          this.#truth.touched.add(node.name);
          this.#fell(node, node.services);
        }
      },
    };
    try {
      await this.#churn();
      const pauseMs = this.#random() * 4000 * this.#pace;
      const [undo] = await Promise.all([deed.act(scene), sleep(pauseMs).then(() => this.#churn())]);
      await this.#converge(deed);
      if (undo) {
        await undo();
        await this.#converge({ ...deed, name: `${deed.name}: taken back` });
      }
      if (!this.#isStopped) await this.#stays(deed);
    } catch (error) {
      this.#lie([
        {
          node: '',
          what: `"${deed.name}" could not be done`,
          wanted: '',
          found: `${error instanceof Error ? error.stack : error}`,
        },
      ]);
    }
  }

  /** Mends some of what is out of order, and puts something else out of order. */
  async #churn(): Promise<void> {
    const mended = [...this.#failed].filter(() => this.#random() < 0.5);
    const { fleetNodes, processNodes, kubeletNodes } = this.#stage;
    const count = Math.ceil(this.#random() * Math.min(40, fleetNodes.length / 5));
    const chosen: SoakNode[] = someOf(fleetNodes, count, this.#random);
    chosen.push(...someOf([...processNodes, ...kubeletNodes], 1, this.#random));
    const failing = chosen.filter((node) => !this.#failed.has(node) && !node.isSilent);
    for (const node of [...mended, ...failing]) this.#truth.touched.add(node.name);
    await eachOf(mended, 8, async (node) => {
      await node.mend();
      this.#failed.delete(node);
    });
    await eachOf(failing, 8, async (node) => {
      const services = node.services.filter((service) => this.#random() < 0.6 && this.#mayFall(node, service));
      this.#fell(node, services);
      if (services.length > 0) this.#failed.add(node);
      for (const service of services) await node.fail(service, this.#random);
    });
  }

  #fallsOf(node: SoakNode, service: Service): number[] {
    return (this.#falls.get(`${node.name} ${service}`) ?? []).filter((atMs) => performance.now() - atMs < FALLS_MS);
  }

  #mayFall(node: SoakNode, service: Service): boolean {
    return this.#fallsOf(node, service).length < FALLS;
  }

  #fell(node: SoakNode, services: readonly Service[]): void {
    for (const service of services)
      this.#falls.set(`${node.name} ${service}`, [...this.#fallsOf(node, service), performance.now()]);
  }

  /** Waits until everything is true; what is not in time is a lie. */
  async #converge({ name, withinSeconds }: Pick<Deed, 'name' | 'withinSeconds'>): Promise<void> {
    const account = this.#deeds.get(name) ?? { seconds: [], lateSeconds: [] };
    this.#deeds.set(name, account);
    const fromMs = performance.now();
    let isLate = false;
    for (;;) {
      const lies = await this.#look();
      this.#open = lies;
      const seconds = (performance.now() - fromMs) / 1000;
      if (lies.length > 0 && seconds > withinSeconds && !isLate) {
        isLate = true;
        this.#lie(lies);
      }
      if (this.#isStopped && lies.length > 0) return;
      if (lies.length === 0 || seconds * 1000 > withinSeconds * 1000 + LATE_MS) {
        account.seconds.push(seconds);
        if (isLate) account.lateSeconds.push(seconds - withinSeconds);
        return;
      }
      await sleep(LOOK_MS);
    }
  }

  /** Checks that the result holds a while later, and that nothing changed elsewhere. */
  async #stays({ name }: Deed): Promise<void> {
    await sleep((1000 + this.#random() * 4000) * this.#pace);
    const lies = await this.#look();
    this.#lie(
      [...lies, ...this.#truth.flaps.splice(0)].map((lie) => ({ ...lie, what: `${lie.what}, after "${name}"` })),
    );
  }

  get #pace(): number {
    return this.#options.deeds ? 0.2 : 1;
  }

  async #look(): Promise<Lie[]> {
    return this.#truth
      .lies()
      .catch((error: unknown) => [{ node: '', what: 'list', wanted: 'an answer', found: `${error}` }]);
  }

  #lie(lies: readonly Lie[]): void {
    this.#lies.push(...lies);
    for (const { node, what, wanted, found } of lies.slice(0, 20))
      this.#options.say(
        `${new Date().toISOString()} LIE during "${this.#now}": ${node} ${what}: ${wanted} wanted, ${found} found`,
      );
  }

  #progressLine(): string {
    const minute = Math.round((performance.now() - this.#startedMs) / 60_000);
    const total = [...this.#deeds.values()].reduce((sum, { seconds }) => sum + seconds.length, 0);
    const time = new Date().toISOString().slice(11, 19);
    const [first] = this.#open;
    const open = first ? ` (${this.#open.length} not true yet: ${first.node} ${first.what})` : '';
    return `${time} minute ${minute}, ${total} deeds, now ${this.#now}${open}; ${this.#lies.length} lies; ${this.#samples.last()}`;
  }
}
