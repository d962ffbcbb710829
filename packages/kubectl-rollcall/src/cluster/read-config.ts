import { joined } from '@rollcall/common/config/load.ts';
import { parse } from 'yaml';
import type { KubeApi } from './kube-api.ts';

type ConfigMap = { data?: Record<string, string> };

/** The configuration file of the coordinators in a namespace, without its groups and what is null. Throws a KubeApiError where it cannot be read. */
export async function readConfig(kube: KubeApi, namespace: string): Promise<Record<string, unknown>> {
  const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/configmaps/rollcall-coordinator`;
  const { data } = await kube.get<ConfigMap>(path);
  const config: unknown = parse(data?.['coordinator.yaml'] ?? '');
  if (!isMapping(config)) return {};
  // No option is a mapping.
  const settings = Object.entries(config).flatMap(([key, value]) =>
    isMapping(value) ? Object.entries(value).map(([name, inner]) => [joined(key, name), inner]) : [[key, value]],
  );
  return Object.fromEntries(settings.filter(([, value]) => value !== null));
}

function isMapping(value: unknown): value is Record<string, unknown> {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}
