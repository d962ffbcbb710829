import { WATCHED, type WatchedResource } from '@rollcall/common/watched-resources.ts';
import {
  CA_CONFIG_MAP_NAME,
  LEADER_CONSOLE_URL_ANNOTATION,
  LEADER_SCHEDULER_URL_ANNOTATION,
  LEADER_URL_ANNOTATION,
  TLS_SECRET_NAME,
  UNINSTALL_NAME,
} from '@rollcall/common/well-known.ts';
import {
  CERTIFICATE_KEYS,
  PREVIOUS_UNTIL_ANNOTATION,
  PUBLISHED_AT_ANNOTATION,
} from '@rollcall/coordinator/tls/stored-certificates.ts';
import { NODE_HOLD_CRD } from './node-hold.ts';
import { NODE_SERVICE_CRD } from './node-service.ts';
import { NODE_POOL_LABELS_CRD, POOL_LABEL_SET_CRD } from './pool-label-set.ts';

// What each account of rollcall may do. The rights, the fence, the table in SECURITY.md and the tests of what was
// recorded follow from this description.

export type Account = 'coordinator' | 'uninstall';
export type Verb = 'get' | 'list' | 'watch' | 'create' | 'update' | 'patch';

/** What the writes of an account may change of an object, besides its own entry in managedFields. */
type Changes = {
  /** At the top of the object. */
  field: 'data' | 'spec' | 'status';
  /** In that field. */
  keys: readonly string[];
  annotations?: readonly string[];
};

export type Grant = {
  accounts: readonly Account[];
  /** Empty for the core group. */
  group: string;
  resource: string;
  subresource?: string;
  /** The only objects, by name. Absent for all. */
  name?: string;
  verbs: readonly Verb[];
  /** The place, if not the whole cluster. */
  where?: string;
  /** When the chart grants it, if not always. */
  when?: string;
  /** What writes change. Absent where nothing is written, and for Nodes, whose keys `fence-policy.ts` describes. */
  changes?: Changes;
  /** What the writes change, for people, where `changes` does not say it. */
  about?: string;
  /** Why a verb is granted that a recorded run does not use. */
  unused?: Partial<Record<Verb, string>>;
  /** The same about keys of `changes`. */
  unusedKeys?: Readonly<Record<string, string>>;
};

/** The name of the Lease where the chart has not changed it. */
export const LEASE_NAME = 'rollcall-coordinator';

const BOTH = ['coordinator', 'uninstall'] as const;
const COORDINATOR = ['coordinator'] as const;
const OWN_NAMESPACE = 'its own namespace';

/** Whether coordinators are to run, by which the Job does nothing. */
const DEPLOYMENT: Grant = {
  accounts: ['uninstall'],
  group: 'apps',
  resource: 'deployments',
  name: 'rollcall-coordinator',
  where: OWN_NAMESPACE,
  verbs: ['get'],
};

/** Objects that exist before the coordinator: an account that could make them could choose their type. */
const OWN_OBJECTS: readonly Grant[] = [
  {
    accounts: BOTH,
    group: 'coordination.k8s.io',
    resource: 'leases',
    name: LEASE_NAME,
    where: OWN_NAMESPACE,
    verbs: ['get', 'list', 'watch', 'create', 'update', 'patch'],
    changes: {
      field: 'spec',
      keys: ['holderIdentity', 'leaseDurationSeconds', 'acquireTime', 'renewTime', 'leaseTransitions'],
      annotations: [LEADER_URL_ANNOTATION, LEADER_SCHEDULER_URL_ANNOTATION, LEADER_CONSOLE_URL_ANNOTATION],
    },
    unused: { create: 'the Job creates the Lease if it is gone, by an apply, which is a patch', patch: 'the same' },
    unusedKeys: { [LEADER_SCHEDULER_URL_ANNOTATION]: 'with scheduler.enabled' },
  },
  {
    accounts: COORDINATOR,
    group: '',
    resource: 'secrets',
    name: TLS_SECRET_NAME,
    where: OWN_NAMESPACE,
    when: 'not tls.secretName',
    verbs: ['get', 'list', 'watch', 'update'],
    changes: { field: 'data', keys: CERTIFICATE_KEYS, annotations: [PREVIOUS_UNTIL_ANNOTATION] },
    unusedKeys: Object.fromEntries(
      [...CERTIFICATE_KEYS.filter((key) => /^(next|previous)-/.test(key)), PREVIOUS_UNTIL_ANNOTATION].map((key) => [
        key,
        'while the CA is replaced, after 8 months',
      ]),
    ),
  },
  {
    accounts: COORDINATOR,
    group: '',
    resource: 'configmaps',
    name: CA_CONFIG_MAP_NAME,
    where: OWN_NAMESPACE,
    when: 'not tls.secretName',
    verbs: ['get', 'list', 'watch', 'update'],
    changes: { field: 'data', keys: ['ca.crt'], annotations: [PUBLISHED_AT_ANNOTATION] },
  },
];

type Crd = { spec: { versions: { schema: { openAPIV3Schema: { properties: { status: Status } } } }[] } };
type Status = { properties: Record<string, object> };
const CRDS: readonly object[] = [NODE_SERVICE_CRD, NODE_HOLD_CRD, NODE_POOL_LABELS_CRD, POOL_LABEL_SET_CRD];

/** Fields of the status of a kind of ours, as its CRD has them. */
function statusFields({ group, resource }: WatchedResource): readonly string[] {
  const crd = CRDS.find((each) => (each as { metadata: { name: string } }).metadata.name === `${resource}.${group}`);
  const [version] = (crd as Crd | undefined)?.spec.versions ?? [];
  return Object.keys(version?.schema.openAPIV3Schema.properties.status.properties ?? {});
}

/** Why what is not always watched is not in the record. */
const WHEN: Readonly<Record<Exclude<WatchedResource['when'], 'always'>, string>> = {
  gitpod: 'where the CRD of Gitpod is installed',
  check: 'where a check asks for it',
  rule: 'where a rule asks for it',
  'rule-or-check': 'where a rule or a check asks for it',
  gate: 'where startupGate.daemonSets asks for it',
};
function unwatched({ when }: WatchedResource): Pick<Grant, 'unused'> {
  const reason = when === 'always' ? '' : `watched ${WHEN[when]}`;
  return { unused: { list: reason, watch: reason } };
}

const WHERE = { pods: 'namespaces of services', workspaces: "Gitpod's namespace", pools: 'poolNamespace' } as const;

/** Rights to watch, and to write the status of the objects of kinds that are ours. */
const WATCHES = Object.values<WatchedResource>(WATCHED).flatMap((watched): Grant[] => {
  const { group, resource, verbs, hasStatus, role, term, when } = watched;
  const base = {
    group,
    resource,
    ...(role ? { where: WHERE[role] } : {}),
    ...(term ? { when: `a rule or check with ${term}` } : {}),
    ...(when === 'gate' ? { when: 'startupGate.daemonSets' } : {}),
  };
  if (resource === 'nodes') return [];
  return [
    {
      ...base,
      accounts: COORDINATOR,
      verbs: verbs as readonly Verb[],
      ...(when === 'always' ? {} : unwatched(watched)),
    },
    ...(hasStatus
      ? [
          {
            ...base,
            accounts: COORDINATOR,
            subresource: 'status',
            verbs: ['patch'] as const,
            changes: { field: 'status', keys: statusFields(watched) } as const,
          },
        ]
      : []),
  ];
});

export const GRANTS: readonly Grant[] = [
  {
    accounts: BOTH,
    group: '',
    resource: 'nodes',
    verbs: ['get', 'list', 'watch', 'patch'],
    about: 'labels, annotations and taints that [rollcall decides about](packages/docs/reference/keys.md)',
    unused: { get: 'a Node is read alone where a write to it was refused, or it is looked for a taint of its start' },
  },
  {
    accounts: BOTH,
    group: '',
    resource: 'nodes',
    subresource: 'status',
    verbs: ['patch'],
    when: 'coordinator.config.servicesConditions',
    about: 'conditions below services.allowedPrefixes',
    unused: { patch: 'the Job removes a condition where the coordinator was not there to remove it' },
  },
  ...WATCHES,
  ...OWN_OBJECTS,
  DEPLOYMENT,
  {
    accounts: COORDINATOR,
    group: '',
    resource: 'events',
    verbs: ['create', 'patch'],
    where: 'default and its own namespace; all with evict',
    about: 'any Event in these namespaces, which RBAC cannot limit',
    unused: { patch: 'an Event that repeats is counted in the one that is there' },
  },
  {
    accounts: COORDINATOR,
    group: 'authentication.k8s.io',
    resource: 'tokenreviews',
    verbs: ['create'],
    about: 'nothing',
    unused: { create: 'tokens are verified with the keys of the API server, and reviewed where these cannot be read' },
  },
  {
    accounts: COORDINATOR,
    group: '',
    resource: 'pods',
    subresource: 'eviction',
    verbs: ['create'],
    when: 'coordinator.config.evict',
    about: 'evicts pods within their PodDisruptionBudgets',
    unused: { create: 'the tests of eviction use it' },
  },
];

/** The names of the service accounts. */
export const ACCOUNT_NAMES: Readonly<Record<Account, string>> = {
  coordinator: 'rollcall-coordinator',
  uninstall: UNINSTALL_NAME,
};

/** A grant as one word: `resource`, `resource/subresource` or `resource/name`. */
export function placeOf({ resource, subresource, name }: Pick<Grant, 'resource' | 'subresource' | 'name'>): string {
  return [resource, subresource ?? name].filter((part) => part !== undefined).join('/');
}

/** The resource as RBAC has it. */
export function resourceOf({ resource, subresource }: Pick<Grant, 'resource' | 'subresource'>): string {
  return subresource === undefined ? resource : `${resource}/${subresource}`;
}
