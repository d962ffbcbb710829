import { type Alert, runbookOf } from './alert.ts';
import { ALERT_GROUPS } from './alerts.ts';
import { type MonitoringObject, metadataOf, type Placement } from './text.ts';

/** A group of rules as Prometheus reads it. */
type RuleGroup = { name: string; rules: object[] };

/** Every alert, as in a rule file of Prometheus. */
export function ruleGroups(): { groups: RuleGroup[] } {
  return { groups: ALERT_GROUPS.map(({ name, alerts }) => ({ name, rules: alerts.map(ruleOf) })) };
}

/** The same for the operator of Prometheus. */
export function prometheusRule(placement: Placement): MonitoringObject {
  return {
    apiVersion: 'monitoring.coreos.com/v1',
    kind: 'PrometheusRule',
    metadata: metadataOf('rollcall', placement),
    spec: ruleGroups(),
  };
}

function ruleOf(alert: Alert): object {
  return {
    alert: alert.name,
    expr: alert.expr,
    ...(alert.for ? { for: alert.for } : {}),
    labels: { severity: alert.severity },
    annotations: annotationsOf(alert, alert.description),
  };
}

/** `description` as it is in the rule, or as people read it. */
export function annotationsOf(alert: Alert, description: string): Record<string, string> {
  return { summary: alert.summary, description, runbook: runbookOf(alert) };
}
