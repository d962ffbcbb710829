import type { ApiClient } from '../../control-plane/api-client.ts';
import type { NodeObject } from '../../control-plane/cluster.ts';

const PREFIX = 'feature.node.kubernetes.io/';
const TRACKED = 'nfd.node.kubernetes.io/feature-labels';

/**
 * Labels a Node as NFD's master does (`updateNodeObject`): what it set before, by its annotation, and wants no longer it
 * removes, what is missing or has another value it writes, in one JSON patch, even if another client set it. Returns whether
 * there was anything to write.
 */
export async function labelAsNfd(api: ApiClient, node: string, labels: Record<string, string>): Promise<boolean> {
  const { metadata } = await api.get<NodeObject>(`/api/v1/nodes/${node}`);
  const { labels: there = {}, annotations = {} } = metadata;
  const tracked = (annotations[TRACKED] ?? '').split(',').filter((name) => name !== '');
  const before = tracked.map((name) => (name.includes('/') ? name : `${PREFIX}${name}`));
  const names = Object.keys(labels).map((key) => key.replace(PREFIX, ''));
  const operations = [
    ...before
      .filter((key) => key in there && !(key in labels))
      .map((key) => ({ op: 'remove', path: pointer('labels', key) })),
    ...Object.entries(labels)
      .filter(([key, value]) => there[key] !== value)
      .map(([key, value]) => ({ op: key in there ? 'replace' : 'add', path: pointer('labels', key), value })),
    ...(annotations[TRACKED] === names.sort().join(',')
      ? []
      : [{ op: 'add', path: pointer('annotations', TRACKED), value: names.sort().join(',') }]),
  ];
  if (operations.length === 0) return false;
  // A Node without annotations has no place for the first one.
  const made = metadata.annotations ? [] : [{ op: 'add', path: '/metadata/annotations', value: {} }];
  const at = `/api/v1/nodes/${node}?fieldManager=nfd-master`;
  await api.patch(at, [...made, ...operations], 'application/json-patch+json');
  return true;
}

function pointer(field: string, key: string): string {
  return `/metadata/${field}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`;
}
