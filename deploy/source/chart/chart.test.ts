import { AGENT_OPTIONS } from '@rollcall/agent/options.ts';
import { COORDINATOR_OPTIONS } from '@rollcall/coordinator/model/options.ts';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import {
  AGENT_CHART_OPTIONS,
  COORDINATOR_CHART_OPTIONS,
  DAEMON_SET_GATE_OPTIONS,
  GITPOD_OPTIONS,
  SET_BY_CHART,
} from './options.ts';
import { chartTemplates } from './templates.ts';
import type { ValueNode } from './value.ts';
import { CHART_VALUES } from './values.ts';
import { valuesTable } from './values-table.ts';
import { valuesYaml } from './values-yaml.ts';

describe('every option of a program', () => {
  test.each([
    ['agent', AGENT_OPTIONS, AGENT_CHART_OPTIONS],
    ['coordinator', COORDINATOR_OPTIONS, COORDINATOR_CHART_OPTIONS],
  ] as const)('of the %s is a value, or is set by the chart, or has no place in a file', (program, options, values) => {
    const sections = program === 'coordinator' ? Object.keys({ ...GITPOD_OPTIONS, ...DAEMON_SET_GATE_OPTIONS }) : [];
    const known = new Set([...Object.keys(values), ...sections, ...SET_BY_CHART[program]]);
    const flagOnly = Object.entries(options).filter(([, option]) => 'flagOnly' in option && option.flagOnly);
    for (const [key] of flagOnly) known.add(key);
    expect([...known].toSorted()).toEqual(Object.keys(options).toSorted());
  });
});

test('values.yaml has every value with its default', () => {
  const there = parse(valuesYaml(CHART_VALUES)) as object;
  expect(there).toEqual(defaultOf(CHART_VALUES));
  // Helm reads YAML 1.1: without quotes, it would be a boolean once the "#" is removed.
  expect(valuesYaml(CHART_VALUES)).toContain('#   schedulerTls: "off"\n');
  expect(valuesTable(CHART_VALUES)).toContain('| `agent.config.probePeriodMs` | `1000` |');
});

test('templates of policies name no setting outright', () => {
  const policies = Object.entries(chartTemplates()).filter(([name]) => name.startsWith('policies/'));
  expect(policies).toHaveLength(3);
  for (const [name, template] of policies) {
    expect(template).not.toMatch(/ns_default|agentpool|'accelerators\/'|namespace: rollcall|serviceaccount:rollcall/);
    expect(template.match(/{{-? (if|end)\b/g)).toHaveLength(name.endsWith('.tpl') ? 4 : 2);
  }
});

test('templates of what is for Prometheus, Grafana and kube-scheduler name no namespace outright, and hold their braces as text', () => {
  const names = Object.keys(chartTemplates()).filter((name) => /^(monitoring\/|scheduler)/.test(name));
  expect(names).toHaveLength(4);
  for (const name of names) {
    const template = chartTemplates()[name];
    expect(template).not.toMatch(/amespace: rollcall|\.rollcall\.svc/);
    expect(template).not.toMatch(/{{ ?(\$(labels|value)|[a-z]+}})/);
  }
  expect(chartTemplates()['monitoring/prometheus-rule.yaml']).toContain('{{ "{{" }} $labels.namespace }}');
  expect(chartTemplates()['monitoring/dashboard.yaml']).toContain('{{ "{{" }}state}}');
});

function defaultOf(node: ValueNode): unknown {
  if (node.kind === 'configuration') return {};
  if (node.kind === 'leaf') return node.default;
  const shown = Object.entries(node.fields).filter(([, each]) => each.kind !== 'leaf' || !each.hidden);
  return Object.fromEntries(shown.map(([name, each]) => [name, defaultOf(each)]));
}
