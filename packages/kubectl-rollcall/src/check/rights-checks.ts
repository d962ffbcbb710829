import { CHECK_KINDS } from '@rollcall/common/checks/check-kinds.ts';
import { WATCHED, type WatchedResource } from '@rollcall/common/watched-resources.ts';
import { leaseNameOf } from '../cluster/leader.ts';
import type { Finding } from '../findings.ts';
import { count, listed } from '../text/count.ts';
import { type Check, result } from './check.ts';
import { missingRights } from './cluster-checks.ts';
import { type Evidence, hasAgents, orWhenMissing, type Right } from './evidence.ts';
import type { NodeServiceCheck, Workload } from './objects.ts';

const RESOURCES = Object.values<WatchedResource>(WATCHED);
/** The chart makes the objects, and the coordinator only the Lease. */
const BY_NAME = ['get', 'list', 'watch', 'update'];
const OF_LEASE = [...BY_NAME, 'create', 'patch'];

export const coordinatorRights: Check = async (evidence) => {
  const { may, namespace } = evidence;
  const account = `system:serviceaccount:${namespace}:rollcall-coordinator`;
  const [rights, pods, asked] = [rightsOf(evidence), podRightsOf(evidence), askedRightsOf(evidence)];
  const findings: Finding[] = [];
  const missing = await missingRights(rights, may, account);
  if (missing.length > 0) {
    const text = `The coordinator's account may not ${listed(missing, 8)}`;
    const cure =
      'install its ClusterRole and Role again: helm upgrade, or kubectl apply -f deploy/manifests/install.yaml';
    findings.push({ severity: 'fail', text, cure });
  }
  const unwatched = await missingRights(pods, may, account);
  if (unwatched.length > 0) {
    const text = `The coordinator's account may not ${listed(unwatched, 8)}, where pods of services are`;
    findings.push({ severity: 'fail', text, cure: 'add the namespaces to watchNamespaces and run helm upgrade' });
  }
  const unasked = await missingRights(asked, may, account);
  if (unasked.length > 0) {
    const text = `The coordinator's account may not ${listed(unasked, 8)}, for which rules or NodeServices ask`;
    findings.push({ severity: 'fail', text, cure: 'add the resources to watchResources and run helm upgrade' });
  }
  const needed = rights.length + pods.length + asked.length;
  return result(findings, `the coordinator's account has the ${count(needed, 'right')} that it needs`);
};

function rightsOf({ namespace, config, crds }: Evidence): Right[] {
  const { evict, servicesConditions, tlsCertFile, schedulerTls, ...settings } = settingsOf(config);
  const conditions = isServed(WATCHED.nodeServices, crds) && servicesConditions !== false;
  return [
    ...RESOURCES.flatMap((watched) => (watched.term ? [] : watchRights(watched, { namespace, config, crds }))),
    ...(conditions ? all(['patch'], { group: '', resource: 'nodes', subresource: 'status' }) : []),
    ...['default', namespace].flatMap((each) =>
      all(['create', 'patch'], { group: '', resource: 'events', namespace: each }),
    ),
    ...(hasAgents(config) ? all(['create'], { group: 'authentication.k8s.io', resource: 'tokenreviews' }) : []),
    ...all(OF_LEASE, { group: 'coordination.k8s.io', resource: 'leases', name: leaseNameOf(settings), namespace }),
    // With certificate files, another program maintains the certificate.
    ...(tlsCertFile === undefined && (hasAgents(config) || schedulerTls === 'on')
      ? [
          ...all(BY_NAME, { group: '', resource: 'secrets', name: 'rollcall-coordinator-tls', namespace }),
          ...all(BY_NAME, { group: '', resource: 'configmaps', name: 'rollcall-coordinator-ca', namespace }),
        ]
      : []),
    ...(evict === true ? all(['create'], { group: '', resource: 'pods', subresource: 'eviction' }) : []),
  ];
}

/** To watch a resource, and to write the status of its objects; none where it is not watched, and none for pods. */
function watchRights(watched: WatchedResource, of: Pick<Evidence, 'namespace' | 'config' | 'crds'>): Right[] {
  const { group, resource, verbs, hasStatus, role, when } = watched;
  const { gitpod, namespace = 'default', poolNamespace = of.namespace, startupGateDaemonSets } = settingsOf(of.config);
  if (when === 'gate' && startupGateDaemonSets !== true) return [];
  if (role === 'pods' || (when === 'gitpod' && gitpod === false) || !isServed(watched, of.crds)) return [];
  const place = role ? { namespace: String(role === 'workspaces' ? namespace : poolNamespace) } : {};
  const status = hasStatus ? all(['patch'], { group, resource, subresource: 'status', ...place }) : [];
  return [...all(verbs, { group, resource, ...place }), ...status];
}

/** To watch what rules and NodeServices ask for. */
function askedRightsOf({ namespace, config, crds, coordinator, configMaps, nodeServices }: Evidence): Right[] {
  const { volumes = [] } = orWhenMissing<Workload | undefined>(coordinator, undefined)?.spec?.template?.spec ?? {};
  const mounted = new Set(volumes.map(({ configMap }) => configMap?.name));
  const rules = orWhenMissing(configMaps, [])
    .filter(({ metadata }) => mounted.has(metadata.name))
    .flatMap(({ data = {} }) => Object.values(data))
    .join('\n');
  const kinds = new Set(checksOf(nodeServices).flatMap((check) => Object.keys(check)));
  const byChecks = new Set<WatchedResource | undefined>(
    [...kinds].map((kind) => CHECK_KINDS[kind]?.watched).map((watched) => watched && WATCHED[watched]),
  );
  return RESOURCES.filter((watched) => watched.term && (rules.includes(watched.term) || byChecks.has(watched))).flatMap(
    (watched) => watchRights(watched, { namespace, config, crds }),
  );
}

/** A resource of a CRD need not be installed. */
function isServed({ group, resource, unlisted }: WatchedResource, crds: Evidence['crds']): boolean {
  return unlisted !== 'empty' || orWhenMissing(crds, []).includes(`${resource}.${group}`);
}

/** The rights to watch the pods of agents, of Gitpod, and of every NodeService that asks for pods or for a reporter. */
function podRightsOf({ namespace, config, nodeServices }: Evidence): Right[] {
  const { gitpod, namespace: ofGitpod = 'default', startupGateDaemonSets } = settingsOf(config);
  const ofServices = checksOf(nodeServices).flatMap(
    ({ pods, condition }) => pods?.namespace ?? condition?.reporter?.namespace ?? [],
  );
  const namespaces = new Set([
    ...(hasAgents(config) ? [namespace] : []),
    ...(gitpod === false ? [] : [String(ofGitpod)]),
    ...ofServices,
  ]);
  // In all namespaces, where the startup gate waits for DaemonSets.
  if (startupGateDaemonSets === true) return all(WATCHED.pods.verbs, { group: '', resource: 'pods' });
  return [...namespaces].flatMap((each) => all(WATCHED.pods.verbs, { group: '', resource: 'pods', namespace: each }));
}

/** The checks of all NodeServices, and those within `anyOf`. */
function checksOf(nodeServices: Evidence['nodeServices']): NodeServiceCheck[] {
  return orWhenMissing(nodeServices, [])
    .flatMap(({ spec }) => spec?.checks ?? [])
    .flatMap((check) => [check, ...(check.anyOf ?? [])]);
}

function settingsOf(config: Evidence['config']): Record<string, unknown> {
  return orWhenMissing<Record<string, unknown>>(config, {});
}

function all(verbs: readonly string[], right: Omit<Right, 'verb'>): Right[] {
  return verbs.map((verb) => ({ verb, ...right }));
}
