import { WATCHED, type WatchedResource } from '@rollcall/common/watched-resources.ts';
import { leaseNameOf } from '../cluster/leader.ts';
import type { Finding } from '../findings.ts';
import { count, listed } from '../text/count.ts';
import { type Check, result } from './check.ts';
import { missingRights } from './cluster-checks.ts';
import { type Evidence, orWhenMissing, type Right } from './evidence.ts';

const BY_NAME = ['get', 'list', 'watch', 'create', 'patch'];

export const coordinatorRights: Check = async (evidence) => {
  const { may, namespace } = evidence;
  const account = `system:serviceaccount:${namespace}:rollcall-coordinator`;
  const [rights, pods] = [rightsOf(evidence), podRightsOf(evidence)];
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
  return result(
    findings,
    `the coordinator's account has the ${count(rights.length + pods.length, 'right')} that it needs`,
  );
};

function rightsOf({ namespace, config, crds }: Evidence): Right[] {
  const { evict, servicesConditions, tlsCertFile, gitpod, ...settings } = settingsOf(config);
  const conditions = isServed(WATCHED.nodeServices, crds) && servicesConditions !== false;
  return [
    ...Object.values(WATCHED).flatMap((watched) => watchRights(watched, crds, gitpod !== false)),
    ...(conditions ? all(['patch'], { group: '', resource: 'nodes', subresource: 'status' }) : []),
    ...all(['create', 'patch'], { group: '', resource: 'events', namespace: 'default' }),
    ...all(['create'], { group: 'authentication.k8s.io', resource: 'tokenreviews' }),
    ...all(BY_NAME, { group: 'coordination.k8s.io', resource: 'leases', name: leaseNameOf(settings), namespace }),
    // With certificate files, another program maintains the certificate.
    ...(tlsCertFile === undefined
      ? [
          ...all(BY_NAME, { group: '', resource: 'secrets', name: 'rollcall-coordinator-tls', namespace }),
          ...all(BY_NAME, { group: '', resource: 'configmaps', name: 'rollcall-coordinator-ca', namespace }),
        ]
      : []),
    ...(evict === true ? all(['create'], { group: '', resource: 'pods', subresource: 'eviction' }) : []),
  ];
}

/** To watch a resource, and to write the status of its objects; none where it is not watched, or by namespace alone. */
function watchRights(watched: WatchedResource, crds: Evidence['crds'], isGitpodOn: boolean): Right[] {
  const { group, resource, verbs, hasStatus, byNamespace, when } = watched;
  if (byNamespace || (when === 'gitpod' && !isGitpodOn) || !isServed(watched, crds)) return [];
  const status = hasStatus ? all(['patch'], { group, resource, subresource: 'status' }) : [];
  return [...all(verbs, { group, resource }), ...status];
}

/** A resource of a CRD need not be installed. */
function isServed({ group, resource, unlisted }: WatchedResource, crds: Evidence['crds']): boolean {
  return unlisted !== 'empty' || orWhenMissing(crds, []).includes(`${resource}.${group}`);
}

/** The rights to watch the pods of agents, of Gitpod, and of every NodeService that asks for pods or for a reporter. */
function podRightsOf({ namespace, config, nodeServices }: Evidence): Right[] {
  const { gitpod, namespace: ofGitpod = 'default' } = settingsOf(config);
  const ofServices = orWhenMissing(nodeServices, [])
    .flatMap(({ spec }) => spec?.checks ?? [])
    .flatMap((check) => [check, ...(check.anyOf ?? [])])
    .flatMap(({ pods, condition }) => pods?.namespace ?? condition?.reporter?.namespace ?? []);
  const namespaces = new Set([namespace, ...(gitpod === false ? [] : [String(ofGitpod)]), ...ofServices]);
  return [...namespaces].flatMap((each) => all(WATCHED.pods.verbs, { group: '', resource: 'pods', namespace: each }));
}

function settingsOf(config: Evidence['config']): Record<string, unknown> {
  return orWhenMissing<Record<string, unknown>>(config, {});
}

function all(verbs: readonly string[], right: Omit<Right, 'verb'>): Right[] {
  return verbs.map((verb) => ({ verb, ...right }));
}
