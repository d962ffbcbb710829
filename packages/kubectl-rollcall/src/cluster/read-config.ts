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
  return Object.fromEntries(settingsIn(config).filter(([, value]) => value !== null));
}

/** No option is a mapping: those are groups. */
function settingsIn(config: Record<string, unknown>, group?: string): [string, unknown][] {
  return Object.entries(config).flatMap(([name, value]): [string, unknown][] => {
    const key = group === undefined ? name : joined(group, name);
    if (isMapping(value)) return settingsIn(value, key);
    return [[group !== undefined && name === 'enabled' ? group : key, value]];
  });
}

function isMapping(value: unknown): value is Record<string, unknown> {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}
