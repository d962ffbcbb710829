/**
 * When a resource is watched: always, while Gitpod is known, while a check asks for it, while a rule does, while either
 * does, or while the startup gate waits for DaemonSets. Pods are watched in the namespaces that services, holds and the agents name.
 */
type WatchedWhen = 'always' | 'gitpod' | 'check' | 'rule' | 'rule-or-check' | 'gate';

/**
 * What it means that a resource cannot be listed. `wait`: nothing is decided before it can be. `empty`: a resource that is
 * not served has no objects, since its CRD need not be installed; until a first attempt has ended, nothing is decided.
 * `unknown`: all else goes on, and what depends on it is unknown.
 */
type Unlisted = 'wait' | 'empty' | 'unknown';

export type WatchedResource = {
  group: string;
  version: string;
  /** Plural, as in paths and rights. */
  resource: string;
  /** Plural, as in messages and /readyz. */
  title: string;
  when: WatchedWhen;
  /** How the terms of rules begin that ask for it. */
  term?: string;
  unlisted: Unlisted;
  /** Verbs that the coordinator needs. */
  verbs: readonly string[];
  /** Whether the coordinator writes the status, by patch. */
  hasStatus?: true;
  /** Last word of the names of the Roles that grant the rights in single namespaces. Without it, the ClusterRole does. */
  role?: 'pods' | 'workspaces' | 'pools';
  /** Everything is listed anew after so long, in milliseconds: no event tells that a change of the CRD changed what is read. */
  relistMs?: number;
};

const WATCH = ['list', 'watch'] as const;
const CRD_RELIST_MS = 300_000;

/**
 * Every resource that the coordinator watches. Its reflectors, /readyz, the rights in the chart, those that `kubectl
 * rollcall check` looks for, and the rights of tests follow from this table.
 */
export const WATCHED = {
  nodes: {
    group: '',
    version: 'v1',
    resource: 'nodes',
    title: 'Nodes',
    when: 'always',
    unlisted: 'wait',
    verbs: ['get', ...WATCH, 'patch'],
  },
  pods: {
    group: '',
    version: 'v1',
    resource: 'pods',
    title: 'pods',
    when: 'always',
    unlisted: 'wait',
    verbs: WATCH,
    role: 'pods',
  },
  workspaces: {
    group: 'workspace.gitpod.io',
    version: 'v1',
    resource: 'workspaces',
    title: 'Workspaces',
    when: 'gitpod',
    unlisted: 'empty',
    verbs: WATCH,
    role: 'workspaces',
    relistMs: CRD_RELIST_MS,
  },
  nodePoolLabels: {
    group: 'rollcall.dev',
    version: 'v1alpha1',
    resource: 'nodepoollabels',
    title: 'NodePoolLabels',
    when: 'always',
    unlisted: 'empty',
    verbs: WATCH,
    hasStatus: true,
    role: 'pools',
    relistMs: CRD_RELIST_MS,
  },
  nodePoolLabelSets: {
    group: 'labels.banzaicloud.io',
    version: 'v1alpha1',
    resource: 'nodepoollabelsets',
    title: 'NodePoolLabelSets',
    when: 'always',
    unlisted: 'empty',
    verbs: WATCH,
    hasStatus: true,
    role: 'pools',
    relistMs: CRD_RELIST_MS,
  },
  nodeServices: {
    group: 'rollcall.dev',
    version: 'v1alpha1',
    resource: 'nodeservices',
    title: 'NodeServices',
    when: 'always',
    unlisted: 'empty',
    verbs: WATCH,
    hasStatus: true,
    relistMs: CRD_RELIST_MS,
  },
  nodeHolds: {
    group: 'rollcall.dev',
    version: 'v1alpha1',
    resource: 'nodeholds',
    title: 'NodeHolds',
    when: 'always',
    unlisted: 'empty',
    verbs: WATCH,
    hasStatus: true,
    relistMs: CRD_RELIST_MS,
  },
  csiNodes: {
    group: 'storage.k8s.io',
    version: 'v1',
    resource: 'csinodes',
    title: 'CSINodes',
    when: 'check',
    unlisted: 'unknown',
    verbs: WATCH,
  },
  resourceSlices: {
    group: 'resource.k8s.io',
    version: 'v1',
    resource: 'resourceslices',
    title: 'ResourceSlices',
    when: 'rule-or-check',
    term: 'dra:',
    unlisted: 'unknown',
    verbs: WATCH,
  },
  daemonSets: {
    group: 'apps',
    version: 'v1',
    resource: 'daemonsets',
    title: 'DaemonSets',
    when: 'gate',
    unlisted: 'unknown',
    verbs: WATCH,
  },
  nodeFeatures: {
    group: 'nfd.k8s-sigs.io',
    version: 'v1alpha1',
    resource: 'nodefeatures',
    title: 'NodeFeatures',
    when: 'rule',
    term: 'nfd:',
    unlisted: 'empty',
    verbs: WATCH,
  },
} as const satisfies Record<string, WatchedResource>;

/** The path of a collection, or of the part of it in a namespace. */
export function collectionPath({ group, version, resource }: WatchedResource, namespace?: string): string {
  const root = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
  return namespace === undefined ? `${root}/${resource}` : `${root}/namespaces/${namespace}/${resource}`;
}
