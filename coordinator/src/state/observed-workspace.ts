import type { Workspace } from '../kube/objects.ts';
import { requestsOf } from './resources.ts';

/** A Pod that the scheduler extender places, trimmed to what is counted. */
export type ObservedWorkspacePod = {
  uid: string;
  namespace: string;
  name: string;
  /** Empty before it has one, and when its containers have ended for good: it takes no room any more. */
  node: string;
  /** It has no node yet, and may get one. */
  waiting: boolean;
  /** kube-scheduler has found no node for it, at least once. */
  refused: boolean;
  /** The node that kube-scheduler has chosen before it binds the pod, or evicts others for it; empty if there is none. */
  nominated: string;
  ready: boolean;
  /** It is not Ready, and not on its way out. */
  starting: boolean;
  /** When it got its node, or was created; epoch milliseconds. */
  sinceMs: number;
  /** What it asks for, in cores and bytes. */
  cpu: number;
  memory: number;
};

/** What is read of a Pod. */
type WorkspacePod = {
  metadata: {
    uid: string;
    namespace?: string;
    name: string;
    creationTimestamp?: string;
    deletionTimestamp?: string;
  };
  spec?: { nodeName?: string };
  status?: {
    phase?: string;
    nominatedNodeName?: string;
    conditions?: { type: string; status: string; lastTransitionTime?: string }[];
  };
};

const ENDED: ReadonlySet<string | undefined> = new Set(['Succeeded', 'Failed']);

export function observeWorkspacePod({ metadata, spec, status }: WorkspacePod): ObservedWorkspacePod {
  const condition = (wanted: string) => status?.conditions?.find(({ type }) => type === wanted);
  const ready = condition('Ready')?.status === 'True';
  const scheduled = condition('PodScheduled');
  const sinceText = scheduled?.status === 'True' ? scheduled.lastTransitionTime : undefined;
  const ended = ENDED.has(status?.phase);
  const waiting = !ended && !spec?.nodeName;
  return {
    uid: metadata.uid,
    namespace: metadata.namespace ?? '',
    name: metadata.name,
    node: ended ? '' : (spec?.nodeName ?? ''),
    waiting,
    refused: waiting && scheduled?.status === 'False',
    nominated: waiting ? (status?.nominatedNodeName ?? '') : '',
    ready,
    starting: !ready && metadata.deletionTimestamp === undefined,
    // Both are there in what the API server sends.
    sinceMs: Date.parse(sinceText ?? metadata.creationTimestamp ?? '') || 0,
    ...requestsOf(spec),
  };
}

/** A Workspace, trimmed to what decisions need: neither its phase nor its deletion matters while it is there. */
export type ObservedWorkspace = {
  uid: string;
  namespace: string;
  name: string;
  /** The node that it runs on, or ran on last; empty while it has none. */
  node: string;
};

export function observeWorkspace({ metadata, status }: Workspace): ObservedWorkspace {
  const { uid, namespace = '', name } = metadata;
  return { uid, namespace, name, node: status?.runtime?.nodeName ?? '' };
}
