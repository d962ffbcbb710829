import { withMatcher } from './metric-references.ts';
import type { Panel } from './panel.ts';
import { ROWS } from './panels.ts';
import { type MonitoringObject, metadataOf, type Placement } from './text.ts';

const SOURCE = { type: 'prometheus', uid: '$' + '{datasource}' };
/** By which the sidecar of Grafana's chart finds a dashboard. */
export const DASHBOARD_LABELS: Readonly<Record<string, string>> = { grafana_dashboard: '1' };
const HEIGHT = 8;
const WIDTH = 6;
const COLUMNS = 24;

/**
 * A dashboard for Grafana (12.2 and later have this version of the schema; those before take it as theirs). It has no
 * uid of its own, and takes whatever data source a person chooses.
 */
export function dashboard(): object {
  return {
    title: 'rollcall',
    tags: ['rollcall', 'kubernetes'],
    editable: true,
    graphTooltip: 1,
    refresh: '30s',
    schemaVersion: 42,
    time: { from: 'now-3h', to: 'now' },
    timezone: '',
    templating: { list: [dataSourceVariable(), namespaceVariable()] },
    annotations: { list: [] },
    links: [],
    panels: layOut(),
  };
}

/** The dashboard in a ConfigMap, as the sidecar of Grafana's chart finds it. */
export function dashboardConfigMap(placement: Placement): MonitoringObject {
  const metadata = metadataOf('rollcall-dashboard', placement);
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { ...metadata, labels: { ...metadata.labels, ...DASHBOARD_LABELS } },
    data: { 'rollcall.json': dashboardText() },
  };
}

export function dashboardText(): string {
  return `${JSON.stringify(dashboard(), undefined, 2)}\n`;
}

/** Every query as it is on the dashboard, with its panel. */
export function dashboardQueries(): { panel: string; expr: string }[] {
  return ROWS.flatMap(({ panels }) =>
    panels.flatMap(({ title, queries }) => queries.map(({ expr }) => ({ panel: title, expr: inNamespace(expr) }))),
  );
}

function inNamespace(expr: string): string {
  return withMatcher(expr, 'namespace=~"$namespace"');
}

function dataSourceVariable(): object {
  return { name: 'datasource', label: 'Data source', type: 'datasource', query: 'prometheus', refresh: 1, hide: 0 };
}

/** Without such a label, as outside of Kubernetes, `All` is everything. */
function namespaceVariable(): object {
  const query = 'label_values(rollcall_coordinator_build_info, namespace)';
  return {
    name: 'namespace',
    label: 'Namespace',
    type: 'query',
    datasource: SOURCE,
    query,
    definition: query,
    refresh: 2,
    sort: 1,
    multi: true,
    includeAll: true,
    allValue: '.*',
    current: { text: ['All'], value: ['$' + '__all'] },
  };
}

function layOut(): object[] {
  const placed: object[] = [];
  let y = 0;
  for (const { title, panels } of ROWS) {
    placed.push({
      id: placed.length + 1,
      type: 'row',
      title,
      collapsed: false,
      gridPos: { h: 1, w: COLUMNS, x: 0, y },
      panels: [],
    });
    y += 1;
    for (const [index, panel] of panels.entries()) {
      const x = (index * WIDTH) % COLUMNS;
      if (index > 0 && x === 0) y += HEIGHT;
      placed.push({ id: placed.length + 1, gridPos: { h: HEIGHT, w: WIDTH, x, y }, ...timeSeries(panel) });
    }
    y += HEIGHT;
  }
  return placed;
}

function timeSeries({ title, description, unit, queries }: Panel): object {
  return {
    type: 'timeseries',
    title,
    description,
    datasource: SOURCE,
    fieldConfig: { defaults: { unit, min: 0, custom: { fillOpacity: 10, showPoints: 'never' } }, overrides: [] },
    options: { legend: { displayMode: 'list', placement: 'bottom' }, tooltip: { mode: 'multi', sort: 'desc' } },
    targets: queries.map(({ expr, legend }, index) => ({
      refId: String.fromCharCode('A'.charCodeAt(0) + index),
      datasource: SOURCE,
      expr: inNamespace(expr),
      legendFormat: legend,
      range: true,
    })),
  };
}
