import type { Placement } from './text.ts';

const POD = '__meta_kubernetes_pod_';

type Relabeling = { source_labels: string[]; regex?: string; action?: 'keep'; target_label?: string };

/** What Prometheus scrapes, and how it names what it finds. */
export type ScrapeConfig = {
  rule_files: string[];
  scrape_configs: {
    job_name: string;
    kubernetes_sd_configs: { role: 'pod'; namespaces: { names: string[] } }[];
    relabel_configs: Relabeling[];
  }[];
};

/** A configuration for a Prometheus without its operator: it gives series the same labels as the PodMonitors do. */
export function scrapeConfig({ namespace }: Placement): ScrapeConfig {
  const copy = (source: string, target: string) => ({ source_labels: [source], target_label: target });
  return {
    rule_files: ['rules/rollcall.yaml'],
    scrape_configs: [
      {
        job_name: 'rollcall',
        kubernetes_sd_configs: [{ role: 'pod', namespaces: { names: [namespace] } }],
        relabel_configs: [
          {
            source_labels: [`${POD}label_app_kubernetes_io_name`, `${POD}container_port_name`],
            regex: 'rollcall;metrics',
            action: 'keep',
          },
          copy('__meta_kubernetes_namespace', 'namespace'),
          copy(`${POD}name`, 'pod'),
          copy(`${POD}node_name`, 'node'),
        ],
      },
    ],
  };
}
