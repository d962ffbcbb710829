import { dashboardConfigMap } from '../monitoring/dashboard.ts';
import { podMonitors } from '../monitoring/pod-monitors.ts';
import { prometheusRule, type RuleSettings } from '../monitoring/rules.ts';
import { generatedYaml, type MonitoringObject } from '../monitoring/text.ts';

/** A template before the chart's own expressions are put in. */
export type Draft = {
  manifest: string;
  /** When it is rendered; always without one. */
  condition?: string;
  /** Arguments of the helper for labels. */
  labels: string;
};

/** What watches the programs, by the name of its template. The arguments are what stands for values of the chart. */
export function monitoringDrafts(
  namespace: string,
  interval: string,
  relabelings: string,
  rules: RuleSettings,
): Record<string, Draft> {
  return {
    'monitoring/pod-monitors.yaml': draft(
      'podMonitor',
      'What is scraped.',
      podMonitors({ namespace }, interval),
      (text) => text.replaceAll(/( targetLabel: node\n)/g, `$1${relabelings}\n`),
    ),
    'monitoring/prometheus-rule.yaml': draft('prometheusRule', 'The alerts.', [prometheusRule({ namespace }, rules)]),
    'monitoring/dashboard.yaml': draft('dashboard', 'The dashboard.', [dashboardConfigMap({ namespace })]),
  };
}

function draft(
  value: string,
  about: string,
  objects: readonly MonitoringObject[],
  change = (text: string) => text,
): Draft {
  return {
    manifest: change(generatedYaml(about, ...objects.map(unlabelled))),
    condition: `.Values.monitoring.${value}.enabled`,
    labels: `list . "monitoring" .Values.monitoring.${value}.labels`,
  };
}

/** Removes the labels: they come from the chart, and the labels for Grafana from its values. */
function unlabelled({ apiVersion, kind, metadata: { labels: _, ...metadata }, ...rest }: MonitoringObject): object {
  return { apiVersion, kind, metadata, ...rest };
}
