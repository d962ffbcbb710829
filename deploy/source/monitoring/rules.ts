import { RUNBOOKS_URL } from '../project.ts';
import { type Alert, runbookOf } from './alert.ts';
import { ALERT_GROUPS } from './alerts.ts';
import { type MonitoringObject, metadataOf, type Placement } from './text.ts';

/** A group of rules as Prometheus reads it. */
type RuleGroup = { name: string; rules: object[] };

/** Settings of the alerts that an installation may change. */
export type RuleSettings = {
  /** The URL below which the runbooks are. */
  runbooks: string;
  /** What stands for the threshold of an alert. */
  threshold: (alert: Alert, value: number) => string;
};

const DEFAULTS: RuleSettings = { runbooks: RUNBOOKS_URL, threshold: (_, value) => String(value) };

/** Every alert, as in a rule file of Prometheus. */
export function ruleGroups(settings: RuleSettings = DEFAULTS): { groups: RuleGroup[] } {
  return {
    groups: ALERT_GROUPS.map(({ name, alerts }) => ({ name, rules: alerts.map((alert) => ruleOf(alert, settings)) })),
  };
}

/** The same for the operator of Prometheus. */
export function prometheusRule(placement: Placement, settings?: RuleSettings): MonitoringObject {
  return {
    apiVersion: 'monitoring.coreos.com/v1',
    kind: 'PrometheusRule',
    metadata: metadataOf('rollcall', placement),
    spec: ruleGroups(settings),
  };
}

function ruleOf(alert: Alert, settings: RuleSettings): object {
  return {
    alert: alert.name,
    expr: exprOf(alert, settings),
    ...(alert.for ? { for: alert.for } : {}),
    labels: { severity: alert.severity },
    annotations: annotationsOf(alert, alert.description, settings),
  };
}

function exprOf(alert: Alert, settings: RuleSettings): string {
  const { expr, threshold } = alert;
  if (threshold === undefined) return expr;
  const parts = expr.split(new RegExp(`(?<=[<>] )${threshold.value}(?![\\d.])`));
  if (parts.length !== 2) throw new Error(`${alert.name} compares ${parts.length - 1} times with ${threshold.value}`);
  return parts.join(settings.threshold(alert, threshold.value));
}

/** `description` as it is in the rule, or as people read it. */
export function annotationsOf(
  alert: Alert,
  description: string,
  { runbooks }: Pick<RuleSettings, 'runbooks'> = DEFAULTS,
): Record<string, string> {
  return { summary: alert.summary, description, runbook_url: runbookOf(alert, runbooks) };
}
