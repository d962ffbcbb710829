import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { registerAgentMetrics } from '@rollcall/agent/metrics.ts';
import { createRegistry } from '@rollcall/common/metrics.ts';
import { describe, expect, test } from 'vitest';
import { registerCoordinatorMetrics } from '../coordinator-metrics.ts';
import { runbookOf } from './alert.ts';
import { ALERTS } from './alerts.ts';
import { dashboard, dashboardQueries } from './dashboard.ts';
import { monitoringFiles } from './files.ts';
import { groupingLabels, metricReferences, withMatcher } from './metric-references.ts';

const ROOT = path.resolve(import.meta.dirname, '../../..');
const FOLDER = 'deploy/monitoring';
/** Labels that the scraper adds to every series. */
const TARGET_LABELS = ['cluster', 'namespace', 'pod', 'node', 'job', 'instance'];

/** Labels of each series that a program can expose, by its name. */
const known = await knownSeries();

async function knownSeries(): Promise<Map<string, { labels: readonly string[]; values: Map<string, Set<string>> }>> {
  const agent = createRegistry('rollcall_agent');
  registerAgentMetrics(agent);
  const coordinator = createRegistry('rollcall_coordinator');
  registerCoordinatorMetrics(coordinator);
  const found: Awaited<ReturnType<typeof knownSeries>> = new Map();
  for (const registry of [agent, coordinator]) {
    for (const { name, type, values } of await registry.getMetricsAsJSON()) {
      const { labelNames } = registry.getSingleMetric(name) as unknown as { labelNames: string[] };
      const seen = new Map<string, Set<string>>();
      for (const { labels } of values) {
        for (const [label, value] of Object.entries(labels)) {
          seen.set(label, (seen.get(label) ?? new Set()).add(String(value)));
        }
      }
      const series =
        String(type) === 'histogram' ? ['_bucket', '_sum', '_count'].map((suffix) => name + suffix) : [name];
      for (const each of series) {
        found.set(each, { labels: each.endsWith('_bucket') ? [...labelNames, 'le'] : labelNames, values: seen });
      }
    }
  }
  return found;
}

const expressions = [
  ...ALERTS.map(({ name, expr }) => ({ of: name, expr })),
  ...dashboardQueries().map(({ panel, expr }) => ({ of: panel, expr })),
];

describe('every expression', () => {
  test('reads metrics that the programs have', () => {
    const unknown = expressions.flatMap(({ of, expr }) =>
      metricReferences(expr).flatMap(({ name }) => (known.has(name) ? [] : [`${of}: ${name}`])),
    );
    expect(unknown).toEqual([]);
    expect(expressions.filter(({ expr }) => metricReferences(expr).length === 0)).toEqual([]);
  });

  test('selects by labels that the metric has', () => {
    const wrong = expressions.flatMap(({ of, expr }) =>
      metricReferences(expr).flatMap(({ name, matchers }) =>
        matchers
          .filter(({ label }) => !TARGET_LABELS.includes(label) && !known.get(name)?.labels.includes(label))
          .map(({ label }) => `${of}: ${name} has no ${label}`),
      ),
    );
    expect(wrong).toEqual([]);
  });

  test('groups by labels that one of its metrics has', () => {
    const wrong = expressions.flatMap(({ of, expr }) => {
      const labels = metricReferences(expr).flatMap(({ name }) => known.get(name)?.labels ?? []);
      return groupingLabels(expr).flatMap((label) =>
        TARGET_LABELS.includes(label) || labels.includes(label) ? [] : [`${of}: ${label}`],
      );
    });
    expect(wrong).toEqual([]);
    expect(expressions.flatMap(({ expr }) => groupingLabels(expr)).length).toBeGreaterThan(20);
  });

  test('selects by values that the metric can have, if the metric declares its values', () => {
    const checked: string[] = [];
    for (const { of, expr } of expressions) {
      for (const { name, matchers } of metricReferences(expr)) {
        for (const { label, operator, value } of matchers) {
          const values = known.get(name)?.values.get(label);
          // Of regular expressions, those that list words.
          const isList = operator === '=~' && /^[\w|-]+$/.test(value);
          if (!values || !(operator === '=' || isList)) continue;
          checked.push(`${name} ${label}`);
          expect([...values], `${of}: ${name}{${label}}`).toEqual(expect.arrayContaining(value.split('|')));
        }
      }
    }
    expect(new Set(checked).size).toBeGreaterThan(2);
  });
});

test('the expressions are taken apart as Prometheus does', () => {
  const expr =
    'sum by (a, b) (rate(rollcall_x_total{k="v",l=~"w|x"}[5m])) and on (c) {__name__=~"rollcall_(y|z)_info"}';
  expect(metricReferences(expr)).toEqual([
    {
      name: 'rollcall_x_total',
      matchers: [
        { label: 'k', operator: '=', value: 'v' },
        { label: 'l', operator: '=~', value: 'w|x' },
      ],
    },
    { name: 'rollcall_y_info', matchers: [] },
    { name: 'rollcall_z_info', matchers: [] },
  ]);
  expect(groupingLabels(expr)).toEqual(['a', 'b', 'c']);
  expect(withMatcher('rollcall_a / rollcall_b{k="v"}', 'n="m"')).toBe('rollcall_a{n="m"} / rollcall_b{k="v",n="m"}');
});

describe('every alert', () => {
  test('has a name of its own', () => {
    expect(new Set(ALERTS.map(({ name }) => name)).size).toBe(ALERTS.length);
  });

  test('is seen to fire, and not to fire', () => {
    const untried = ALERTS.filter(({ cases }) => {
      const firing = cases.filter(({ fires = [] }) => fires.length > 0).length;
      return firing === 0 || firing === cases.length;
    });
    expect(untried.map(({ name }) => name)).toEqual([]);
  });

  test.each(ALERTS)('$name has a runbook that says what it means, and what to do', (alert) => {
    const text = readFileSync(path.join(ROOT, runbookOf(alert, 'packages/docs/how-to/runbooks')), 'utf8');
    const headings = [...text.matchAll(/^(#+ .*)$/gm)].map(([line]) => line);
    expect(headings).toEqual([`# ${alert.name}`, '## Symptom', '## Meaning', '## Check', '## Fix']);
    for (const section of text.split(/^## .*$/m).slice(1)) expect(section.trim().length).toBeGreaterThan(30);
  });

  test('is the only reason for a runbook and for a test', () => {
    const names = ALERTS.map(({ name }) => name).toSorted();
    const inFolder = (folder: string) => readdirSync(path.join(ROOT, folder)).toSorted();
    expect(inFolder('packages/docs/how-to/runbooks')).toEqual(names.map((name) => `${name}.md`));
    expect(inFolder(`${FOLDER}/tests`)).toEqual(names.map((name) => `${name}.yaml`));
  });
});

test('runbooks name metrics that the programs have', () => {
  for (const alert of ALERTS) {
    const text = readFileSync(path.join(ROOT, runbookOf(alert, 'packages/docs/how-to/runbooks')), 'utf8');
    const missing = metricReferences(text).filter(({ name }) => !known.has(name) && !known.has(`${name}_bucket`));
    expect([alert.name, missing]).toEqual([alert.name, []]);
  }
});

describe('the dashboard', () => {
  test('is bound to no data source, and is known by one uid wherever it is', () => {
    const text = JSON.stringify(dashboard());
    const uids = [...text.matchAll(/"uid":"([^"]*)"/g)].map(([, uid]) => uid);
    expect(new Set(uids)).toEqual(new Set(['rollcall', '$' + '{datasource}']));
    expect(dashboard().uid).toBe('rollcall');
    expect(dashboard()).not.toHaveProperty('id');
  });

  test('keeps to the chosen clusters and namespaces in every selector', () => {
    for (const { expr } of dashboardQueries()) {
      for (const { matchers } of metricReferences(expr)) {
        for (const label of ['cluster', 'namespace'])
          expect(matchers).toContainEqual({ label, operator: '=~', value: `$${label}` });
      }
    }
  });

  test('has no two panels in one place', () => {
    type Placed = { id: number; gridPos: { x: number; y: number; w: number; h: number } };
    const { panels } = dashboard() as { panels: Placed[] };
    const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, index) => `${x + (index % w)} ${y + Math.floor(index / w)}`),
    );
    expect(new Set(cells).size).toBe(cells.length);
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
  });
});

test('what is generated is all that is in its folders', () => {
  const there = ['rules', 'dashboards', 'manifests'].flatMap((folder) =>
    readdirSync(path.join(ROOT, FOLDER, folder)).map((name) => `${FOLDER}/${folder}/${name}`),
  );
  const generated = monitoringFiles().map(({ file }) => file);
  expect(generated).toEqual(expect.arrayContaining(there));
});
