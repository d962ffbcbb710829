import { ungrouped } from '@rollcall/common/config/load.ts';
import { parse } from 'yaml';
import type { KubeApi } from './kube-api.ts';

type ConfigMap = { data?: Record<string, string> };

/** The configuration file of the coordinators in a namespace, without its groups and what is null. Throws a KubeApiError where it cannot be read. */
export async function readConfig(kube: KubeApi, namespace: string): Promise<Record<string, unknown>> {
  const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/configmaps/rollcall-coordinator`;
  const { data } = await kube.get<ConfigMap>(path);
  const config: unknown = parse(data?.['coordinator.yaml'] ?? '');
  if (config === null || typeof config !== 'object') return {};
  // No option is a mapping: those are groups.
  const settings = ungrouped(
    config,
    () => true,
    () => true,
  );
  return Object.fromEntries(settings.flatMap(({ key, value }) => (value === null ? [] : [[key, value]])));
}
