import type { Workspace } from '../kube/objects.ts';

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
