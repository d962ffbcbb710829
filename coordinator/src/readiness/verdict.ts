import type { NodeSnapshot } from '../fleet/snapshot.ts';
import type { Service } from '../services.ts';

/** Whether a service is ready on a node, with the evidence as a sentence for people. */
export type Verdict = {
  /** `unknown`: nobody can tell now, so that things stay as they are. */
  state: 'ready' | 'not-ready' | 'unknown';
  reason: string;
};

/**
 * Ready means: a pod of the service on the node is Ready and not terminating, and the agent's probe says so, and the
 * agent was heard lately. Pods speak even while the agent does not: what they say counts at once.
 */
export function judgeService(service: Service, snapshot: NodeSnapshot, requirePod: boolean): Verdict {
  const agent = agentVerdict(service, snapshot);
  if (!requirePod) return agent;
  const pods = podVerdict(service, snapshot);
  if (pods.state === 'not-ready') return pods;
  return agent.state === 'ready' ? { state: 'ready', reason: `${pods.reason}; ${agent.reason}` } : agent;
}

/** One good pod is enough; one that is on its way out beside it does no harm. */
function podVerdict({ component }: Service, { pods }: NodeSnapshot): Verdict {
  const own = pods.filter((pod) => pod.component === component);
  const good = own.find(({ ready, terminating }) => ready && !terminating);
  if (good) return { state: 'ready', reason: `pod ${good.namespace}/${good.name} is Ready` };
  const other = own.find(({ terminating }) => !terminating) ?? own[0];
  if (!other) return { state: 'not-ready', reason: `no pod of ${component} is on the node` };
  const problem = other.terminating ? 'is terminating' : 'is not Ready';
  return { state: 'not-ready', reason: `pod ${other.namespace}/${other.name} ${problem}` };
}

function agentVerdict({ name }: Service, { freshness, services }: NodeSnapshot): Verdict {
  switch (freshness.state) {
    case 'absent':
      return { state: 'not-ready', reason: 'no agent is on the node, and none has reported' };
    case 'unheard':
      return { state: 'unknown', reason: 'the agent has not been heard yet since this coordinator began to lead' };
    case 'silent':
      if (freshness.guard === undefined)
        return { state: 'not-ready', reason: 'the agent has been silent for too long' };
      return { state: 'unknown', reason: `the agent is silent, and so are most others (guard: ${freshness.guard})` };
    case 'fresh':
    case 'leaving':
      break;
  }
  const report = services.get(name);
  if (!report) return { state: 'not-ready', reason: `the agent does not report on ${name}` };
  return { state: report.ready ? 'ready' : 'not-ready', reason: report.evidence };
}
