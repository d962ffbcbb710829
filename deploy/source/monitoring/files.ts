import { type GeneratedBlock, markdownTable } from '../blocks.ts';
import type { GeneratedFile } from '../manifests/files.ts';
import { DEFAULT_SETTINGS } from '../manifests/settings.ts';
import { ALERTS } from './alerts.ts';
import { dashboardConfigMap, dashboardText } from './dashboard.ts';
import { podMonitors } from './pod-monitors.ts';
import { ruleTests } from './rule-tests.ts';
import { prometheusRule, ruleGroups } from './rules.ts';
import { scrapeConfig } from './scrape-config.ts';
import { generatedYaml } from './text.ts';

const FOLDER = 'deploy/monitoring';

/** Rules, their tests, the dashboard, and the same as objects of Kubernetes. */
export function monitoringFiles(): GeneratedFile[] {
  const { namespace } = DEFAULT_SETTINGS;
  const rules = prometheusRule({ namespace });
  const monitors = podMonitors({ namespace });
  return [
    { file: `${FOLDER}/rules/rollcall.yaml`, content: generatedYaml('Alerts, for rule_files.', ruleGroups()) },
    ...ALERTS.map((alert) => ({
      file: `${FOLDER}/tests/${alert.name}.yaml`,
      content: generatedYaml('For promtool test rules.', ruleTests(alert)),
    })),
    {
      file: `${FOLDER}/prometheus.yaml`,
      content: generatedYaml(
        'For a Prometheus in the same cluster, without its operator.',
        scrapeConfig({ namespace }),
      ),
    },
    { file: `${FOLDER}/dashboards/rollcall.json`, content: dashboardText() },
    { file: `${FOLDER}/manifests/prometheus-rule.yaml`, content: generatedYaml('The alerts.', rules) },
    { file: `${FOLDER}/manifests/pod-monitors.yaml`, content: generatedYaml('What is scraped.', ...monitors) },
    {
      file: `${FOLDER}/manifests/dashboard.yaml`,
      content: generatedYaml('The dashboard.', dashboardConfigMap({ namespace })),
    },
  ];
}

export function monitoringBlocks(): GeneratedBlock[] {
  const rows = ALERTS.map(({ name, severity, for: held = 'at once', summary }) => [
    `[${name}](../how-to/runbooks/${name}.md)`,
    severity,
    held,
    summary,
  ]);
  const content = markdownTable(['alert', 'severity', 'after', 'what it says'], rows);
  return [{ file: 'packages/docs/reference/alerts.md', name: 'alerts', content }];
}
