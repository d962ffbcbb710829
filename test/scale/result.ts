import type { Lab } from './lab.ts';

export type BenchOptions = {
  nodes: number;
  /** How often what is compared with a floor is repeated; the median counts. */
  rounds: number;
  /** How long the idle fleet is looked at. */
  idleSeconds: number;
};

/** One line of the table. */
export type Measure = {
  what: string;
  value: number;
  unit: 's' | 'ms' | '×' | 'MiB' | 'KiB' | 'B' | '%' | 'µs' | '';
  /** What it must not exceed; `exactly`: what it must be. Without either, it is there to be read. */
  atMost?: number;
  exactly?: number;
};

export type Bench = (lab: Lab, options: BenchOptions) => Promise<Measure[]>;

/** Whether it is within its budget; `undefined` without one. */
export function isMet({ value, atMost, exactly }: Measure): boolean | undefined {
  if (exactly !== undefined) return value === exactly;
  return atMost === undefined ? undefined : value <= atMost;
}

export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

/** The nearest of the values; NaN of none. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}
