/** A query, and how its series are named in the legend. */
type Query = { expr: string; legend: string };

export type Panel = {
  title: string;
  description: string;
  /** Unit, in Grafana's notation. */
  unit: 'short' | 's' | 'bytes' | 'ops' | 'percentunit';
  queries: readonly Query[];
  /** How it is shown; defaults to curves. */
  shown?: Answer | Table;
};

/** One number, green where all is well. */
type Answer = {
  as: 'answer';
  /** Good values: exactly this number, or less than this. */
  well: { is: number } | { below: number };
};

/** Current values, one line for each series. */
type Table = {
  as: 'table';
  /** Labels that are columns, and their titles. */
  columns: Readonly<Record<string, string>>;
};

export type Row = { title: string; panels: readonly Panel[] };

/** Rate of a counter per second. Grafana adapts the window to the resolution. */
export function rate(metric: string): string {
  return `rate(${metric}[$__rate_interval])`;
}

/** Quantile of a histogram, for each value of the label `by`. */
export function quantile(q: number, by: string, histogram: string): string {
  const labels = ['le', by].filter((label) => label !== '').join(', ');
  return `histogram_quantile(${q}, sum by (${labels}) (${rate(histogram)}))`;
}
