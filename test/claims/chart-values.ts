import type { ValueNode } from '../../deploy/source/chart/value.ts';
import { CHART_VALUES } from '../../deploy/source/chart/values.ts';

/** Defaults of the chart by their paths (`agent.resources.limits.cpu`); sections and settings without one are `undefined`. */
export const FLAT_VALUES: ReadonlyMap<string, unknown> = new Map(entries('', CHART_VALUES));

function entries(path: string, node: ValueNode): [string, unknown][] {
  const of = (name: string) => (path === '' ? name : `${path}.${name}`);
  const own: [string, unknown][] = [[path, undefined]];
  if (node.kind === 'section')
    return [...own, ...Object.entries(node.fields).flatMap(([name, field]) => entries(of(name), field))];
  if (node.kind === 'configuration') {
    return [
      ...own,
      ...Object.entries(node.options).map(([name, option]): [string, unknown] => [of(name), option.default]),
    ];
  }
  return leaves(path, node.default);
}

function leaves(path: string, value: unknown): [string, unknown][] {
  const isMap = typeof value === 'object' && value !== null && !Array.isArray(value);
  const below = isMap ? Object.entries(value).flatMap(([name, each]) => leaves(`${path}.${name}`, each)) : [];
  return [[path, value], ...below];
}
