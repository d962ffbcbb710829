import { readFileSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { dashboardConfigMap } from '../../deploy/source/monitoring/dashboard.ts';
import { podMonitors } from '../../deploy/source/monitoring/pod-monitors.ts';
import { prometheusRule } from '../../deploy/source/monitoring/rules.ts';
import type { MonitoringObject } from '../../deploy/source/monitoring/text.ts';
import type { KubeObject } from '../control-plane/api-client.ts';
import { ensureHelm, type Helm } from '../helm/helm.ts';
import { CHART, fileOf, find, renderObjects, workloads } from './render.ts';

const networkPolicy = { scrapers: [{ namespaceSelector: {} }] };
const ON = { podMonitor: { enabled: true }, prometheusRule: { enabled: true }, dashboard: { enabled: true } };
const PLACEMENT = { namespace: 'elsewhere' };
const ELSEWHERE = ['--namespace', PLACEMENT.namespace];

let helm: Helm;

beforeAll(async () => {
  helm = await ensureHelm();
}, 600_000);

describe('what watches the programs', () => {
  const generated: [string, () => MonitoringObject[]][] = [
    ['podMonitor', () => podMonitors(PLACEMENT)],
    ['prometheusRule', () => [prometheusRule(PLACEMENT)]],
    ['dashboard', () => [dashboardConfigMap(PLACEMENT)]],
  ];

  test.each(generated)('is installed on request, as it is generated for the namespace: %s', async (value, objects) => {
    const without = await renderObjects(helm, { networkPolicy }, ELSEWHERE);
    const all = await renderObjects(helm, { networkPolicy, monitoring: { [value]: { enabled: true } } }, ELSEWHERE);
    const added = all.filter((each) => !without.some((there) => nameOf(there) === nameOf(each)));
    expect(added).toHaveLength(all.length - without.length);
    expect(added).toEqual(
      objects().map((each) => ({
        ...each,
        metadata: { ...each.metadata, labels: expect.objectContaining(each.metadata.labels) },
      })),
    );
  });

  test('is the rules and the dashboard of deploy/monitoring to the letter', async () => {
    const objects = await renderObjects(helm, { networkPolicy, monitoring: ON });
    const folder = path.join(CHART, '../monitoring');
    const dashboard = readFileSync(path.join(folder, 'dashboards/rollcall.json'), 'utf8');
    expect(fileOf(objects, 'rollcall-dashboard', 'rollcall.json')).toBe(dashboard);
    expect(dashboard).toContain('"{{state}}"');
    const rules = JSON.stringify(find(objects, 'PrometheusRule', 'rollcall'));
    expect(rules).toContain('{{ $labels.namespace }}');
  });

  test('has the labels by which others select it, and the interval that is asked for', async () => {
    const monitoring = {
      podMonitor: { enabled: true, interval: '15s', labels: { release: 'a', 'app.kubernetes.io/name': 'other' } },
      prometheusRule: { enabled: true, labels: { release: 'b' } },
      dashboard: { enabled: true, labels: { grafana_dashboard: null, mine: 'c' } },
    };
    const objects = await renderObjects(helm, { networkPolicy, monitoring });
    for (const name of ['rollcall-agent', 'rollcall-coordinator']) {
      const { metadata, spec } = find<KubeObject & { spec: object }>(objects, 'PodMonitor', name);
      expect(metadata.labels).toMatchObject({ release: 'a', 'app.kubernetes.io/name': 'rollcall' });
      expect(spec).toMatchObject({ podMetricsEndpoints: [{ interval: '15s' }] });
    }
    expect(find(objects, 'PrometheusRule', 'rollcall').metadata.labels).toMatchObject({ release: 'b' });
    const { labels } = find(objects, 'ConfigMap', 'rollcall-dashboard').metadata;
    expect(labels).toMatchObject({ mine: 'c' });
    expect(labels).not.toHaveProperty('grafana_dashboard');
  });

  test('selects the pods of the chart, and a port that they have', async () => {
    type PodMonitor = KubeObject & {
      spec: { selector: { matchLabels: Record<string, string> }; podMetricsEndpoints: { port: string }[] };
    };
    const objects = await renderObjects(helm, { networkPolicy, monitoring: ON });
    for (const kind of ['DaemonSet', 'Deployment']) {
      const selecting = (objects as PodMonitor[])
        .filter((each) => each.kind === 'PodMonitor')
        .flatMap(({ metadata: { name }, spec }) => {
          const pod = workloads(objects).find((each) => each.kind === kind)?.template;
          const labels = pod?.metadata['labels'] as Record<string, string>;
          const ports = pod?.spec.containers[0]?.['ports'] as { name: string }[];
          const selects = Object.entries(spec.selector.matchLabels).every(([key, value]) => labels[key] === value);
          return selects && ports.some(({ name: port }) => port === spec.podMetricsEndpoints[0]?.port) ? [name] : [];
        });
      expect(selecting).toEqual([kind === 'DaemonSet' ? 'rollcall-agent' : 'rollcall-coordinator']);
    }
  });
});

function nameOf({ kind, metadata }: KubeObject): string {
  return `${kind} ${metadata.name}`;
}
