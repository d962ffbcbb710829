import { readdir, readFile } from 'node:fs/promises';
import { askInside, type Inside } from './inside.ts';
import type { Stage } from './stage.ts';

const EVERY_MS = 10_000;
/** Until then a program fills its caches. */
const WARM_MS = 180_000;
/** One that lives shorter tells nothing of growth. */
const LIFE_MS = 900_000;
/** Limit of growth from the beginning to the end of a life. */
const GROWTH: Readonly<Record<Figure, { times: number; plus: number }>> = {
  rssMiB: { times: 1.15, plus: 5 },
  heapMiB: { times: 1.1, plus: 2 },
  descriptors: { times: 1.05, plus: 10 },
  handles: { times: 1.05, plus: 10 },
};

type Figure = 'rssMiB' | 'heapMiB' | 'descriptors' | 'handles';
type Sample = { atMs: number; pid: number } & Record<Figure, number> & { lagMs: number };

/** What each program uses, all along. */
export class Samples {
  readonly #stage: Stage;
  readonly #samples = new Map<string, Sample[]>();
  readonly #timer: NodeJS.Timeout;
  #isBusy = false;

  constructor(stage: Stage) {
    this.#stage = stage;
    this.#timer = setInterval(() => void this.#take(), EVERY_MS);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** For a line of progress. */
  last(): string {
    const of = (name: string) => this.#samples.get(name)?.at(-1);
    return [...this.#samples.keys()]
      .toSorted()
      .map((name) => `${name} ${Math.round(of(name)?.rssMiB ?? 0)} MiB ${of(name)?.descriptors} fd`)
      .join(', ');
  }

  /** The longest life of each program, with its first, middle and last third, and whether it grew. */
  summary(): { lines: string[]; grown: string[] } {
    const lines: string[] = [];
    const grown: string[] = [];
    for (const [name, all] of [...this.#samples].toSorted(([a], [b]) => a.localeCompare(b))) {
      const life = longestLife(all);
      const lagMs = median(all.map((sample) => sample.lagMs));
      const judged = spanOf(life) >= LIFE_MS ? 'judged' : 'too short to be judged';
      const lag = Number.isNaN(lagMs)
        ? ''
        : `; event loop late by ${lagMs.toFixed(0)} ms (median of the longest in 10 s)`;
      lines.push(`${name}: ${all.length} samples, longest life ${minutes(spanOf(life))} min, ${judged}${lag}`);
      for (const figure of Object.keys(GROWTH) as Figure[]) {
        const points = life.filter((sample) => Number.isFinite(sample[figure]));
        if (points.length < 3) continue;
        const [first = 0, middle = 0, last = 0] = thirds(points).map((part) =>
          median(part.map((each) => each[figure])),
        );
        const slope = slopePerHour(points, figure);
        lines.push(
          `  ${figure.padEnd(12)}${[first, middle, last, slope].map((value) => value.toFixed(1).padStart(9)).join('')} an hour`,
        );
        const { times, plus } = GROWTH[figure];
        if (spanOf(life) >= LIFE_MS && last > first * times + plus) grown.push(`${name}: ${figure}`);
      }
    }
    return { lines, grown };
  }

  async #take(): Promise<void> {
    if (this.#isBusy) return;
    this.#isBusy = true;
    try {
      const { replicas, processNodes, kubeletNodes } = this.#stage;
      const leader = await this.#stage.leader();
      const programs = [
        // A leader has the connections of all agents.
        ...replicas.map((replica) => ({
          name: `${replica.name}${replica === leader ? ', leading' : ''}`,
          socket: replica.name,
          pid: replica.program.pid,
        })),
        ...processNodes.map(({ node }, index) => ({
          name: `agent-${index + 1}`,
          socket: `agent-${index + 1}`,
          pid: node.agent?.pid ?? 0,
        })),
        ...(await Promise.all(
          kubeletNodes.map(async (real) => {
            const [pod] = await real.agentPods().catch(() => []);
            const pids = pod ? await real.node.podProcesses(pod.metadata.uid ?? '').catch(() => []) : [];
            return { name: `agent of ${real.name}`, socket: undefined, pid: Math.min(...pids) };
          }),
        )),
      ];
      await Promise.all(programs.map((program) => this.#sample(program)));
    } finally {
      this.#isBusy = false;
    }
  }

  async #sample({ name, socket, pid }: { name: string; socket: string | undefined; pid: number }): Promise<void> {
    try {
      const status = await readFile(`/proc/${pid}/status`, 'utf8');
      const rssMiB = Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1]) / 1024;
      const descriptors = (await readdir(`/proc/${pid}/fd`)).length;
      const unknown: Inside = { lagMs: Number.NaN, heapMiB: Number.NaN, handles: Number.NaN };
      const inside = socket === undefined ? unknown : await askInside(this.#stage.dir, socket);
      const samples = this.#samples.get(name) ?? [];
      samples.push({ atMs: performance.now(), pid, rssMiB, descriptors, ...inside });
      this.#samples.set(name, samples);
    } catch {
      // It stands still, or is gone.
    }
  }
}

/** Samples of the longest-lived process, without the time in which it fills its caches. */
function longestLife(samples: readonly Sample[]): Sample[] {
  const lives = Map.groupBy(samples, ({ pid }) => pid);
  const warm = [...lives.values()].map((life) => life.filter(({ atMs }) => atMs >= (life[0]?.atMs ?? 0) + WARM_MS));
  return warm.reduce((longest, life) => (spanOf(life) > spanOf(longest) ? life : longest), []);
}

function spanOf(life: readonly Sample[]): number {
  return (life.at(-1)?.atMs ?? 0) - (life[0]?.atMs ?? 0);
}

function thirds(life: readonly Sample[]): Sample[][] {
  const length = Math.ceil(life.length / 3);
  return [life.slice(0, length), life.slice(length, -length), life.slice(-length)];
}

function median(values: readonly number[]): number {
  const sorted = values.filter(Number.isFinite).toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

/** Slope by least squares. */
function slopePerHour(life: readonly Sample[], figure: Figure): number {
  const mean = (of: (sample: Sample) => number) => life.reduce((sum, sample) => sum + of(sample), 0) / life.length;
  const [atMs, value] = [mean((sample) => sample.atMs), mean((sample) => sample[figure])];
  const spread = mean((sample) => (sample.atMs - atMs) ** 2);
  return (mean((sample) => (sample.atMs - atMs) * (sample[figure] - value)) / spread) * 3_600_000;
}

const minutes = (ms: number) => (ms / 60_000).toFixed(0);
