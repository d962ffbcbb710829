/** An alert, and how it is seen to be right. */
export type Alert = {
  name: `Rollcall${string}`;
  /** What the expression compares with, once, as `> value` or `< value`: an installation may have another. */
  threshold?: { value: number; help: string };
  /** PromQL. Series of several installations are kept apart by the label `namespace`, which is empty where nothing sets it. */
  expr: string;
  /** How long it has to hold, as Prometheus writes durations; at once without it. */
  for?: string;
  /** `critical`: labels are, or may soon be, wrong on many nodes. */
  severity: 'critical' | 'warning';
  /** For people, without variables. */
  summary: string;
  /** For people, with the variables of an alert. */
  description: string;
  cases: readonly AlertCase[];
};

/** Expectation of an alert for series with one sample a minute. */
type AlertCase = {
  name: string;
  /** Values, in the notation of promtool, by series. */
  series: Readonly<Record<string, string>>;
  /** When it is looked at. */
  after: string;
  /** What fires then, with the description as people read it; defaults to nothing. */
  fires?: readonly { labels: Readonly<Record<string, string>>; says: string }[];
};

export type AlertGroup = { name: string; alerts: readonly Alert[] };

/** Its runbook, where runbooks are. */
export function runbookOf({ name }: Pick<Alert, 'name'>, runbooks: string): string {
  return `${runbooks}/${name}.md`;
}
