import type { Alert } from './alert.ts';
import { annotationsOf } from './rules.ts';

/** What `promtool test rules` reads, in `deploy/monitoring/tests`. */
export function ruleTests(alert: Alert): object {
  const tests = alert.cases.map(({ name, series, after, fires = [] }) => ({
    name,
    interval: '1m',
    input_series: Object.entries(series).map(([each, values]) => ({ series: each, values })),
    alert_rule_test: [
      ...(alert.for && fires.length > 0 ? [{ eval_time: tooEarly(alert.for), alertname: alert.name }] : []),
      {
        eval_time: after,
        alertname: alert.name,
        exp_alerts: fires.map(({ labels, says }) => ({
          exp_labels: { ...labels, severity: alert.severity },
          exp_annotations: annotationsOf(alert, says),
        })),
      },
    ],
  }));
  return { rule_files: ['../rules/rollcall.yaml'], evaluation_interval: '1m', tests };
}

/** A minute before an alert may fire at all; no earlier than the second sample, from which on there is something to see. */
function tooEarly(held: string): string {
  const [, count, unit] = /^(\d+)([mh])$/.exec(held) ?? [];
  if (count === undefined) throw new Error(`${held} is neither minutes nor hours`);
  return `${Math.max(1, Number(count) * (unit === 'h' ? 60 : 1) - 1)}m`;
}
