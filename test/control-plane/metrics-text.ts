/**
 * The sum of all samples of one metric in Prometheus text whose labels include every pair of `filter`; 0 when there is
 * none. Label values with escaped quotes are understood, timestamps are not expected.
 */
export function sumSamples(text: string, metric: string, filter: Readonly<Record<string, string>>): number {
  let sum = 0;
  for (const line of text.split('\n')) {
    if (!line.startsWith(`${metric}{`) && !line.startsWith(`${metric} `)) continue;
    const end = line.lastIndexOf(' ');
    const labels = parseLabels(line.slice(metric.length, end));
    if (Object.entries(filter).every(([name, value]) => labels.get(name) === value)) sum += Number(line.slice(end + 1));
  }
  return sum;
}

function parseLabels(text: string): Map<string, string> {
  const labels = new Map<string, string>();
  for (const [, name, value] of text.matchAll(/([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g)) {
    if (name !== undefined && value !== undefined) labels.set(name, value.replaceAll(/\\(.)/g, '$1'));
  }
  return labels;
}
