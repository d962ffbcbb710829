import { expect, it } from 'vitest';
import { sumSamples } from './metrics-text.ts';

const text = `# HELP requests_total Requests.
# TYPE requests_total counter
requests_total{code="200",resource="nodes",verb="PATCH"} 3
requests_total{code="409",resource="nodes",verb="PATCH"} 2
requests_total{code="200",resource="pods",verb="PATCH",path="a \\"b\\" c"} 7
requests_total_other{resource="nodes",verb="PATCH"} 100
up 1
`;

it('sums only the samples of the metric that have all the labels', () => {
  expect(sumSamples(text, 'requests_total', { verb: 'PATCH', resource: 'nodes' })).toBe(5);
  expect(sumSamples(text, 'requests_total', {})).toBe(12);
  expect(sumSamples(text, 'requests_total', { path: 'a "b" c' })).toBe(7);
  expect(sumSamples(text, 'requests_total', { verb: 'GET' })).toBe(0);
  expect(sumSamples(text, 'up', {})).toBe(1);
});
