import { parse } from 'yaml';
import type { KubeApi } from './kube-api.ts';

type ConfigMap = { data?: Record<string, string> };

/** The configuration file of the coordinators in a namespace. Throws a KubeApiError where it cannot be read. */
export async function readConfig(kube: KubeApi, namespace: string): Promise<Record<string, unknown>> {
  const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/configmaps/rollcall-coordinator`;
  const { data } = await kube.get<ConfigMap>(path);
  const config: unknown = parse(data?.['coordinator.yaml'] ?? '');
  return config !== null && typeof config === 'object' ? (config as Record<string, unknown>) : {};
}
