/** A query, and how its series are named in the legend. */
type Query = { expr: string; legend: string };

export type Panel = {
  title: string;
  description: string;
  /** As Grafana names units. */
  unit: 'short' | 's' | 'bytes' | 'ops' | 'percentunit';
  queries: readonly Query[];
};

export type Row = { title: string; panels: readonly Panel[] };

/** Of a counter, a second. Grafana fits the window to the resolution. */
export function rate(metric: string): string {
  return `rate(${metric}[$__rate_interval])`;
}

/** Of a histogram, by its buckets, kept apart by the label `by`. */
export function quantile(q: number, by: string, histogram: string): string {
  const labels = ['le', by].filter((label) => label !== '').join(', ');
  return `histogram_quantile(${q}, sum by (${labels}) (${rate(histogram)}))`;
}
