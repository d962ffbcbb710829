import {
  type Dashboard,
  type Panel as GrafanaPanel,
  type RowPanel,
  ThresholdsMode,
  type VariableModel,
} from '@grafana/schema';
import { withMatcher } from './metric-references.ts';
import type { Panel } from './panel.ts';
import { ROWS } from './panels.ts';
import { type MonitoringObject, metadataOf, type Placement } from './text.ts';

const SOURCE = { type: 'prometheus', uid: '$' + '{datasource}' };
/** Labels by which the sidecar of Grafana's chart finds a dashboard. */
export const DASHBOARD_LABELS: Readonly<Record<string, string>> = { grafana_dashboard: '1' };
const HEIGHT = 8;
const ANSWER_HEIGHT = 4;
const WIDTH = 6;
const COLUMNS = 24;

/**
 * A dashboard for Grafana (12.2 and later have this version of the schema; those before take it as theirs), of the type
 * that Grafana publishes. It takes whatever data source a person chooses.
 */
export function dashboard(): Dashboard {
  return {
    title: 'rollcall',
    // Links use it, and a newer version replaces the dashboard with this uid.
    uid: 'rollcall',
    tags: ['rollcall', 'kubernetes'],
    editable: true,
    graphTooltip: 1,
    refresh: '30s',
    schemaVersion: 42,
    time: { from: 'now-3h', to: 'now' },
    timezone: '',
    templating: { list: [dataSourceVariable(), labelVariable('cluster'), labelVariable('namespace')] },
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
    panels.flatMap(({ title, queries }) => queries.map(({ expr }) => ({ panel: title, expr: chosen(expr) }))),
  );
}

function chosen(expr: string): string {
  return withMatcher(expr, 'cluster=~"$cluster",namespace=~"$namespace"');
}

function dataSourceVariable(): VariableModel {
  return { name: 'datasource', label: 'Data source', type: 'datasource', query: 'prometheus', refresh: 1, hide: 0 };
}

/** If nothing sets the label (such as `cluster`, where there is only one), `All` selects every series. */
function labelVariable(name: 'cluster' | 'namespace'): VariableModel {
  const query = `label_values(rollcall_coordinator_build_info, ${name})`;
  return {
    name,
    label: `${name[0]?.toUpperCase()}${name.slice(1)}`,
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
  } as VariableModel;
}

/** Panels that are the whole of their row share its width, the others have a quarter. */
function layOut(): (GrafanaPanel | RowPanel)[] {
  const placed: (GrafanaPanel | RowPanel)[] = [];
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
    const isShared = panels.every(({ shown }) => shown);
    const w = isShared ? COLUMNS / panels.length : WIDTH;
    const h = panels.every(({ shown }) => shown?.as === 'answer') ? ANSWER_HEIGHT : HEIGHT;
    for (const [index, panel] of panels.entries()) {
      const x = (index * w) % COLUMNS;
      if (index > 0 && x === 0) y += h;
      placed.push({ id: placed.length + 1, gridPos: { h, w, x, y }, ...drawn(panel) });
    }
    y += h;
  }
  return placed;
}

function drawn(panel: Panel): GrafanaPanel {
  const { title, description, queries, shown } = panel;
  const now = shown ? { instant: true, range: false } : { range: true };
  const format = shown?.as === 'table' ? { format: 'table' } : {};
  const targets = queries.map(({ expr, legend }, index) => ({
    refId: String.fromCharCode('A'.charCodeAt(0) + index),
    datasource: SOURCE,
    expr: chosen(expr),
    ...(legend === '' ? {} : { legendFormat: legend }),
    ...now,
    ...format,
  }));
  return { title, description, datasource: SOURCE, targets, ...pictureOf(panel) };
}

function pictureOf({ unit, shown }: Panel): Pick<GrafanaPanel, 'type' | 'fieldConfig' | 'options' | 'transformations'> {
  if (shown === undefined)
    return {
      type: 'timeseries',
      fieldConfig: { defaults: { unit, min: 0, custom: { fillOpacity: 10, showPoints: 'never' } }, overrides: [] },
      options: { legend: { displayMode: 'list', placement: 'bottom' }, tooltip: { mode: 'multi', sort: 'desc' } },
    };
  if (shown.as === 'table') {
    const titles = Object.entries(shown.columns);
    return {
      type: 'table',
      fieldConfig: { defaults: {}, overrides: [] },
      options: { showHeader: true },
      transformations: [
        { id: 'filterFieldsByName', options: { include: { names: titles.map(([name]) => name) } } },
        {
          id: 'organize',
          options: {
            indexByName: Object.fromEntries(titles.map(([name], index) => [name, index])),
            renameByName: shown.columns,
          },
        },
      ],
    };
  }
  const { well } = shown;
  const steps =
    'is' in well
      ? [
          { color: 'red', value: null },
          { color: 'green', value: well.is },
          { color: 'red', value: well.is * 1.001 },
        ]
      : [
          { color: 'green', value: null },
          { color: 'red', value: well.below },
        ];
  return {
    type: 'stat',
    fieldConfig: { defaults: { unit, thresholds: { mode: ThresholdsMode.Absolute, steps } }, overrides: [] },
    options: { colorMode: 'background', graphMode: 'none', reduceOptions: { calcs: ['lastNotNull'] } },
  };
}
