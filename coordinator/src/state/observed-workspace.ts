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
  starting: boolean;
  /** Of its containers, separated by spaces, which no image name has: compared as one. */
  images: string;
  /** What it asks for, in cores and bytes. */
  cpu: number;
  memory: number;
};

/** What is read of a Pod. */
type WorkspacePod = {
  metadata: { uid: string; namespace?: string; name: string; deletionTimestamp?: string };
  spec?: { nodeName?: string; containers?: { image?: string }[] };
  status?: { phase?: string; conditions?: { type: string; status: string }[] };
};

const ENDED: ReadonlySet<string | undefined> = new Set(['Succeeded', 'Failed']);

/** A workspace is starting until its pod is Ready, or on its way out. */
export function observeWorkspacePod({ metadata, spec, status }: WorkspacePod): ObservedWorkspacePod {
  const ready = status?.conditions?.some(({ type, status: value }) => type === 'Ready' && value === 'True') ?? false;
  const containers = spec?.containers ?? [];
  const ended = ENDED.has(status?.phase);
  return {
    uid: metadata.uid,
    namespace: metadata.namespace ?? '',
    name: metadata.name,
    node: ended ? '' : (spec?.nodeName ?? ''),
    waiting: !ended && !spec?.nodeName,
    starting: !ready && metadata.deletionTimestamp === undefined,
    ...requestsOf(spec),
    images: containers.flatMap(({ image }) => image ?? []).join(' '),
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
