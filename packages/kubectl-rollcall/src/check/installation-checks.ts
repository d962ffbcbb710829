import { X509Certificate } from 'node:crypto';
import { duration } from '@rollcall/common/duration.ts';
import { tolerates } from '@rollcall/common/tolerations.ts';
import { leadershipProblem } from '../cluster/leader.ts';
import type { Finding } from '../findings.ts';
import { count, listed } from '../text/count.ts';
import { type Check, result } from './check.ts';
import { COMPONENT, hasAgents, known, orWhenMissing, podsOf } from './evidence.ts';
import type { PodObject, Workload } from './objects.ts';

/** Whether rollcall is where it is looked for. */
export const isInstalled: Check = ({ coordinator, agent, config, namespace }) => {
  const findings: Finding[] = [];
  const cure = `use -n to name the namespace of rollcall, or install it: helm install rollcall deploy/chart -n ${namespace} --create-namespace`;
  const there = <T>(read: { value: T } | { missing: boolean; problem: string }) => !('missing' in read && read.missing);
  if (!there(coordinator))
    findings.push({ severity: 'fail', text: `There is no Deployment ${namespace}/rollcall-coordinator`, cure });
  if (!there(agent) && hasAgents(config))
    findings.push({ severity: 'fail', text: `There is no DaemonSet ${namespace}/rollcall-agent`, cure });
  if (findings.length > 0) return { findings };
  const ready = known(coordinator).status?.readyReplicas ?? 0;
  const wanted = known(coordinator).spec?.replicas ?? 1;
  if (ready >= wanted) return { well: `${ready} of ${wanted} coordinators are ready` };
  const text = `${ready} of ${wanted} coordinators are ready`;
  return {
    findings: [
      {
        severity: ready === 0 ? 'fail' : 'warn',
        text,
        cure: `kubectl -n ${namespace} describe deployment rollcall-coordinator`,
      },
    ],
  };
};

/** Standbys are ready, too. */
export const someoneLeads: Check = ({ coordinator, lease, namespace, nowMs }) => {
  known(coordinator);
  const problem = leadershipProblem(orWhenMissing(lease, {}), namespace, nowMs);
  return problem ? { findings: [{ severity: 'fail', ...problem }] } : { well: 'a coordinator leads' };
};

/** More than any network takes, and less than what makes tokens or certificates useless. */
const CLOCK_OFF_MS = 60_000;

/** The times of the holder in the Lease, and of this machine, against the clock of the API server. */
export const clocksAgree: Check = ({ clockAheadMs, lease, nowMs }) => {
  const findings: Finding[] = [];
  const { holderIdentity = '', renewTime } = orWhenMissing(lease, {}).spec ?? {};
  const leaderAheadMs = renewTime === undefined || holderIdentity === '' ? 0 : Date.parse(renewTime) - nowMs;
  if (leaderAheadMs > CLOCK_OFF_MS) {
    const text = `The clock of the leader ${holderIdentity} is ${duration(leaderAheadMs)} ahead of the API server's: agents may refuse certificates that it makes, because they are not valid yet`;
    const cure =
      'synchronize the clock of its node (NTP); certificates that are not valid are then replaced within seconds';
    findings.push({ severity: 'fail', text, cure });
  }
  if (Math.abs(clockAheadMs) > CLOCK_OFF_MS) {
    const where = clockAheadMs > 0 ? 'behind' : 'ahead of';
    const text = `The clock of this machine is ${duration(Math.abs(clockAheadMs))} ${where} the API server's`;
    const cure = "synchronize one of them (NTP); this check uses the API server's clock";
    findings.push({ severity: 'warn', text, cure });
  }
  return result(findings, 'the clocks of the API server, the leader and this machine agree');
};

export const agentsRun: Check = ({ agent, namespace }) => {
  const { desiredNumberScheduled = 0, numberReady = 0 } = known(agent).status ?? {};
  const text = `${numberReady} of ${desiredNumberScheduled} agents are ready`;
  if (numberReady >= desiredNumberScheduled) return { well: text };
  return {
    findings: [{ severity: 'fail', text, cure: `kubectl -n ${namespace} get pods -l ${COMPONENT}=agent -o wide` }],
  };
};

export const agentsTolerate: Check = ({ agent, nodes }) => {
  const tolerations = known(agent).spec?.template?.spec?.tolerations ?? [];
  const selector = known(agent).spec?.template?.spec?.nodeSelector ?? {};
  const refused = new Map<string, string[]>();
  for (const { metadata, spec } of known(nodes)) {
    if (Object.entries(selector).some(([key, value]) => metadata.labels?.[key] !== value)) continue;
    for (const taint of spec?.taints ?? []) {
      if (taint.effect === 'PreferNoSchedule' || tolerates(tolerations, taint)) continue;
      const text = `${taint.key}${taint.value ? `=${taint.value}` : ''}:${taint.effect}`;
      refused.set(text, [...(refused.get(text) ?? []), metadata.name]);
    }
  }
  const findings = [...refused].map(([taint, names]): Finding => {
    const text = `The agent does not tolerate ${taint}, so it cannot run on ${count(names.length, 'node')}: ${listed(names, 3)}`;
    return { severity: 'fail', text, cure: 'set agent.tolerations to its default, [{operator: Exists}]' };
  });
  return result(findings, 'the agent tolerates every taint of the nodes');
};

const isReady = ({ status }: PodObject) =>
  status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True') === true;

export const oneConfiguration: Check = (evidence) => {
  known(evidence.coordinator);
  const kinds = new Map<string, string[]>();
  for (const { metadata, spec } of podsOf(evidence, 'coordinator').filter(isReady)) {
    const container = spec?.containers?.[0];
    const kind = JSON.stringify([container?.image, container?.args, metadata.annotations?.['checksum/config']]);
    kinds.set(kind, [...(kinds.get(kind) ?? []), metadata.name]);
  }
  if (kinds.size < 2) return { well: 'all coordinators have the same configuration' };
  const text = `Coordinators run with ${kinds.size} different configurations: ${listed([...kinds.values()].map((names) => names.join(', ')))}`;
  const cure = `kubectl -n ${evidence.namespace} rollout status deployment/rollcall-coordinator; if it does not finish, use "rollout restart"`;
  return { findings: [{ severity: 'fail', text, cure }] };
};

export const oneVersion: Check = (evidence) => {
  const imageOf = (workload: Workload) => workload.spec?.template?.spec?.containers?.[0]?.image;
  const wanted = imageOf(known(evidence.agent));
  const other = podsOf(evidence, 'agent').filter(({ spec }) => spec?.containers?.[0]?.image !== wanted);
  const findings: Finding[] = [];
  if (other.length > 0) {
    const nodes = listed(
      other.map(({ spec }) => spec?.nodeName ?? '?'),
      3,
    );
    const text = `${count(other.length, 'agent')} ${other.length === 1 ? 'runs' : 'run'} another version than the DaemonSet specifies: on ${nodes}`;
    findings.push({
      severity: 'warn',
      text,
      cure: `kubectl -n ${evidence.namespace} rollout status daemonset/rollcall-agent`,
    });
  }
  const coordinator = imageOf(known(evidence.coordinator));
  if (coordinator !== wanted) {
    const text = `Coordinator and agent run different images: ${coordinator} and ${wanted}`;
    findings.push({ severity: 'warn', text, cure: 'finish the upgrade: helm upgrade updates both' });
  }
  return result(findings, `all agents run ${wanted}`);
};

export const policiesBound: Check = (evidence) => {
  const { policies, bindings, mutatingPolicies, mutatingBindings, namespace } = evidence;
  const own = [...orWhenMissing(policies, []), ...orWhenMissing(mutatingPolicies, [])].filter(({ metadata }) =>
    metadata.name.startsWith('rollcall-'),
  );
  const bound = new Set(
    [...orWhenMissing(bindings, []), ...orWhenMissing(mutatingBindings, [])].map(({ spec }) => spec?.policyName),
  );
  const findings: Finding[] = [];
  for (const { metadata } of own.filter((each) => !bound.has(each.metadata.name))) {
    const text = `The policy ${metadata.name} has no binding, so it has no effect`;
    findings.push({
      severity: 'fail',
      text,
      cure: 'install both again: helm upgrade, or kubectl apply -f deploy/policies',
    });
  }
  const fence = own.find(({ metadata }) => metadata.name === 'rollcall-fence');
  if (!fence) {
    const text = 'There is no fence: a stolen token of the coordinator can change everything on Nodes';
    findings.push({
      severity: 'warn',
      text,
      cure: 'set policies.fence.enabled=true, or kubectl apply -f deploy/policies/fence.yaml',
    });
  } else if (
    !fence.spec?.matchConditions?.some(({ expression }) => expression.includes(`system:serviceaccount:${namespace}:`))
  ) {
    const text = `The fence applies to the coordinator of another namespace, so it has no effect in ${namespace}`;
    findings.push({
      severity: 'fail',
      text,
      cure: 'install the fence with the chart, which renders it for the namespace of the release',
    });
  }
  return result(findings, `each admission policy of rollcall has its binding (${own.length})`);
};

/** Accounts that every namespace has, and those of rollcall. */
const OWN_ACCOUNT = /^(default|builder|deployer|rollcall-.*)$/;
const PART_OF = 'app.kubernetes.io/part-of';

/**
 * Whether rollcall has its namespace for itself. Who may use a pod or a Secret of a namespace can use what its other
 * accounts may do, so the fence and the rights are as good as the accounts beside them.
 */
export const ownNamespace: Check = ({ serviceAccounts, pods, namespace }) => {
  const accounts = orWhenMissing(serviceAccounts, [])
    .map(({ metadata }) => metadata.name)
    .filter((name) => !OWN_ACCOUNT.test(name));
  const others = known(pods)
    .filter(({ metadata: { labels = {} } }) => labels[PART_OF] !== 'rollcall' && labels[COMPONENT] === undefined)
    .map(({ metadata }) => metadata.name);
  const named = (what: string, names: readonly string[]) =>
    names.length === 0 ? [] : [`${count(names.length, what)} (${listed(names, 3)})`];
  const shared = [...named('other account', accounts), ...named('other pod', others)].join(' and ');
  const text = `The namespace ${namespace} also has ${shared}: what they may do, and what rollcall may do, is open to both`;
  const cure = 'install rollcall into a namespace of its own, or move the others to another one';
  const findings: Finding[] = shared === '' ? [] : [{ severity: 'warn', text, cure }];
  return result(findings, `rollcall has the namespace ${namespace} for itself`);
};

const EXPIRES_SOON_MS = 14 * 86_400_000;

export const certificates: Check = ({ ca, nowMs, namespace }) => {
  const text = known(ca).data?.['ca.crt'] ?? '';
  const pems = text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  const parsed = pems.map((pem) => new X509Certificate(pem));
  const earlyMs = Math.min(...parsed.map(({ validFrom }) => Date.parse(validFrom) - nowMs));
  const longestMs = Math.max(...parsed.map(({ validTo }) => Date.parse(validTo) - nowMs));
  const cure = `kubectl -n ${namespace} logs -l ${COMPONENT}=coordinator | grep -i certificate`;
  if (pems.length === 0)
    return { findings: [{ severity: 'fail', text: 'The CA that agents trust is not published', cure }] };
  if (earlyMs > 0) {
    const early = `The CA that agents trust is not valid for another ${duration(earlyMs)}: the clock of the coordinator that made it was ahead`;
    return {
      findings: [
        { severity: 'fail', text: early, cure: `synchronize the clocks of the nodes (NTP), and see: ${cure}` },
      ],
    };
  }
  if (longestMs <= 0)
    return {
      findings: [{ severity: 'fail', text: `The CA that agents trust expired ${duration(-longestMs)} ago`, cure }],
    };
  if (longestMs < EXPIRES_SOON_MS)
    return {
      findings: [
        {
          severity: 'warn',
          text: `The CA that agents trust expires in ${duration(longestMs)} and was not renewed`,
          cure,
        },
      ],
    };
  return { well: `the CA that agents trust is valid for another ${duration(longestMs)}` };
};

/** The pods of Gitpod's services are looked for in one namespace. */
export const gitpodNamespace: Check = async ({ config, coordinator, podsWith }) => {
  const settings = orWhenMissing<Record<string, unknown> | undefined>(config, undefined);
  const { namespace = 'default' } = settings ?? {};
  // The chart switches Gitpod off by default, the program on.
  const isOn = settings ? settings['gitpod'] !== false : orWhenMissing<unknown>(coordinator, undefined) !== undefined;
  const pods = known(await podsWith('component in (ws-daemon,registry-facade)'));
  const namespaces = [...new Set(pods.map(({ metadata }) => metadata.namespace ?? ''))];
  if (!isOn) {
    if (pods.length === 0) return { well: 'the support for Gitpod is off, and no pods of its services run' };
    const text = `Gitpod's services run in ${listed(namespaces)}, and gitpod.enabled is not set`;
    const cure = `to label nodes by them, set gitpod.enabled=true and gitpod.namespace=${namespaces[0]}`;
    return { findings: [{ severity: 'warn', text, cure }] };
  }
  if (pods.length === 0) {
    const text = "The cluster has no pod of Gitpod's ws-daemon or registry-facade";
    return {
      findings: [{ severity: 'warn', text, cure: 'if you do not run Gitpod, set gitpod.enabled=false' }],
    };
  }
  if (namespaces.includes(String(namespace)))
    return { well: `Gitpod's services run in ${namespace}, the configured namespace` };
  const text = `Gitpod's services are configured for ${namespace}, but run in ${listed(namespaces)}`;
  return {
    findings: [
      {
        severity: 'fail',
        text,
        cure: `set gitpod.namespace=${namespaces[0]} and run helm upgrade`,
      },
    ],
  };
};

export const nodeServicesAccepted: Check = ({ nodeServices }) => {
  const all = orWhenMissing(nodeServices, []);
  const findings = all.flatMap(({ metadata, status }): Finding[] => {
    const inForce = status?.conditions?.find(({ type }) => type === 'Ready');
    if (inForce?.status !== 'False') return [];
    const text = `The NodeService ${metadata.name} is not in force (${inForce.reason}): ${inForce.message}`;
    return [{ severity: 'fail', text, cure: `kubectl edit nodeservice ${metadata.name}` }];
  });
  return result(findings, `no NodeService is refused (${all.length} in the cluster)`);
};
