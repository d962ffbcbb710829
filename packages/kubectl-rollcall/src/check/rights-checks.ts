import { leaseNameOf } from '../cluster/leader.ts';
import type { Finding } from '../findings.ts';
import { count, listed } from '../text/count.ts';
import { type Check, result } from './check.ts';
import { missingRights } from './cluster-checks.ts';
import { type Evidence, orWhenMissing, type Right } from './evidence.ts';

const BY_NAME = ['get', 'list', 'watch', 'create', 'patch'];
const WATCH = ['list', 'watch'];
const POOLS = { group: 'labels.banzaicloud.io', resource: 'nodepoollabelsets' };
const SERVICES = { group: 'rollcall.dev', resource: 'nodeservices' };
const HOLDS = { group: 'rollcall.dev', resource: 'nodeholds' };
const WORKSPACES = { group: 'workspace.gitpod.io', resource: 'workspaces' };

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
  const has = (crd: { group: string; resource: string }) =>
    orWhenMissing(crds, []).includes(`${crd.resource}.${crd.group}`);
  const withStatus = (crd: { group: string; resource: string }) =>
    has(crd) ? [...all(WATCH, crd), ...all(['patch'], { ...crd, subresource: 'status' })] : [];
  const conditions = has(SERVICES) && servicesConditions !== false;
  return [
    ...all(['get', 'list', 'watch', 'patch'], { group: '', resource: 'nodes' }),
    ...(conditions ? all(['patch'], { group: '', resource: 'nodes', subresource: 'status' }) : []),
    ...all(WATCH, { group: 'storage.k8s.io', resource: 'csinodes' }),
    ...all(['create', 'patch'], { group: '', resource: 'events', namespace: 'default' }),
    ...all(['create'], { group: 'authentication.k8s.io', resource: 'tokenreviews' }),
    ...all(BY_NAME, { group: 'coordination.k8s.io', resource: 'leases', name: leaseNameOf(settings), namespace }),
    // With a certificate of somebody else there is none to keep.
    ...(tlsCertFile === undefined
      ? [
          ...all(BY_NAME, { group: '', resource: 'secrets', name: 'rollcall-coordinator-tls', namespace }),
          ...all(BY_NAME, { group: '', resource: 'configmaps', name: 'rollcall-coordinator-ca', namespace }),
        ]
      : []),
    ...(evict === true ? all(['create'], { group: '', resource: 'pods', subresource: 'eviction' }) : []),
    ...(gitpod !== false && has(WORKSPACES) ? all(WATCH, WORKSPACES) : []),
    ...withStatus(POOLS),
    ...withStatus(SERVICES),
    ...withStatus(HOLDS),
  ];
}

/** To watch pods: those of agents, of Gitpod, and of every NodeService that asks for pods. */
function podRightsOf({ namespace, config, nodeServices }: Evidence): Right[] {
  const { gitpod, namespace: ofGitpod = 'default' } = settingsOf(config);
  const ofServices = orWhenMissing(nodeServices, []).flatMap(({ spec }) => spec?.pods?.namespace ?? []);
  const namespaces = new Set([namespace, ...(gitpod === false ? [] : [String(ofGitpod)]), ...ofServices]);
  return [...namespaces].flatMap((each) => all(WATCH, { group: '', resource: 'pods', namespace: each }));
}

function settingsOf(config: Evidence['config']): Record<string, unknown> {
  return orWhenMissing<Record<string, unknown>>(config, {});
}

function all(verbs: readonly string[], right: Omit<Right, 'verb'>): Right[] {
  return verbs.map((verb) => ({ verb, ...right }));
}
