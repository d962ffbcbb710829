import { selects } from '@rollcall/coordinator/model/label-selector.ts';
import type { Placing } from '@rollcall/coordinator/model/placing.ts';
import { type Resources, requestsOf } from '@rollcall/coordinator/state/resources.ts';

/** What kind of node a workspace needs. `any`: its pod does not say, and a node of either kind will do. */
export type WorkspaceKind = 'regular' | 'headless' | 'any';

/** A Pod that asks for a node, with no more than is evaluated. */
export type SchedulingPod = {
  /** Its uid, or NAMESPACE/NAME where it has none. */
  id: string;
  namespace: string;
  name: string;
  /** `undefined` for every pod that is not placed here; `any` where the nodes are selected in another way. */
  workspace: WorkspaceKind | undefined;
  /** The label `workspaceType` as it is, or empty: the predecessor's predicate uses only this. */
  workspaceType: string;
  /** What it asks for. */
  asks: Resources;
};

const KINDS: Readonly<Record<string, WorkspaceKind>> = {
  regular: 'regular',
  prebuild: 'headless',
  imagebuild: 'headless',
  headless: 'headless',
};

/** Reads a Pod from whatever JSON it is: what is missing, null or of another type counts as absent. */
export function readSchedulingPod(pod: unknown, { namespace: own, podSelector, nodeSelector }: Placing): SchedulingPod {
  const { metadata, spec } = recordOf(pod);
  const { uid, namespace, name, labels: maybeLabels } = recordOf(metadata);
  const labels = recordOf(maybeLabels);
  const isOwn = namespace === own && podSelector !== undefined && selects(podSelector, textsOf(labels));
  const kind = nodeSelector ? 'any' : kindOf(labels);
  const path = `${textOf(namespace)}/${textOf(name)}`;
  return {
    id: textOf(uid) || path,
    namespace: textOf(namespace),
    name: textOf(name),
    workspace: isOwn ? kind : undefined,
    workspaceType: textOf(labels['workspaceType']),
    asks: requestsOf(spec),
  };
}

/**
 * Gitpod's pods say `headless: "true"` for everything but regular workspaces, and older ones only `workspaceType`. A pod
 * that says neither may go to any node for workspaces, as with the predecessor: to take it for a regular one would keep
 * it waiting in a cluster that has only nodes for headless ones.
 */
function kindOf(labels: Readonly<Record<string, unknown>>): WorkspaceKind {
  if (labels['headless'] === 'true') return 'headless';
  const type = textOf(labels['workspaceType']).toLowerCase();
  const kind = Object.hasOwn(KINDS, type) ? KINDS[type] : undefined;
  return kind ?? (labels['headless'] === 'false' ? 'regular' : 'any');
}

/** The value if it is a JSON object, and an empty one if it is anything else. */
function recordOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** Without what no label could be. */
function textsOf(record: Readonly<Record<string, unknown>>): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(record).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  );
}
