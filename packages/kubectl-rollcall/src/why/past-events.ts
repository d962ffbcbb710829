import type { KubeApi } from '../cluster/kube-api.ts';

/** An Event of rollcall about a node. */
export type PastEvent = { at: string; reason: string; message: string; count: number };

type CoreEvent = {
  reason?: string;
  message?: string;
  count?: number;
  lastTimestamp?: string | null;
  source?: { component?: string };
};

const COMPONENT = 'rollcall';
const SHOWN_MAX = 10;

/** The latest Events about a node from before `before` (RFC 3339), the newest first. @throws where they may not be read. */
export async function pastEvents(kube: KubeApi, node: string, before: string): Promise<PastEvent[]> {
  const selector = encodeURIComponent(`involvedObject.kind=Node,involvedObject.name=${node}`);
  const events = await kube.list<CoreEvent>(`/api/v1/namespaces/default/events?fieldSelector=${selector}`);
  return events
    .flatMap(({ reason = '', message = '', count = 1, lastTimestamp, source }) => {
      const isOurs = source?.component === COMPONENT;
      return isOurs && lastTimestamp ? [{ at: lastTimestamp, reason, message, count }] : [];
    })
    .filter(({ at }) => Date.parse(at) < Date.parse(before))
    .toSorted((a, b) => Date.parse(b.at) - Date.parse(a.at))
    .slice(0, SHOWN_MAX);
}
