import type { ApiClient } from '../../control-plane/api-client.ts';
import type { NodeObject } from '../../control-plane/cluster.ts';

/** A condition that a monitor writes. */
type Finding = { type: string; status: 'True' | 'False'; reason: string; message: string };

/** Writes a condition as a monitor does that runs on the node, with a heartbeat. */
export function reportCondition(api: ApiClient, node: string, finding: Finding): Promise<unknown> {
  const now = new Date().toISOString().replace(/\.\d+Z$/, 'Z');
  return api.patch(
    `/api/v1/nodes/${node}/status?fieldManager=monitor`,
    { status: { conditions: [{ ...finding, lastHeartbeatTime: now, lastTransitionTime: now }] } },
    'application/strategic-merge-patch+json',
  );
}

/** The taints of a node, as `KEY:EFFECT`. */
export async function taintsOf(api: ApiClient, node: string): Promise<string[]> {
  const { spec } = await api.get<NodeObject>(`/api/v1/nodes/${node}`);
  return (spec.taints ?? []).map(({ key, effect }) => `${key}:${effect}`);
}
