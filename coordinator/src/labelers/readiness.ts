import type { NodeSnapshot } from '../fleet/snapshot.ts';
import type { Service } from '../services.ts';
import type { Claim, Labeler } from './labeler.ts';

type Verdict = Pick<Claim, 'stance' | 'reason'>;

/**
 * The label of a service is on a node exactly while the service is ready there. Ready means: a pod of it on the node is
 * Ready and not terminating, and the agent's probe says so, and the agent was heard lately. Pods speak even while the
 * agent does not: what they say withdraws at once.
 */
export function readinessLabeler(options: { services: readonly Service[]; requirePod: boolean }): Labeler {
  return {
    name: 'readiness',
    claims: (snapshot) =>
      options.services.map((service) => {
        const pods = options.requirePod ? podVerdict(service, snapshot) : undefined;
        const verdict = pods?.stance === 'withhold' ? pods : agentVerdict(service, snapshot);
        return { kind: 'label', key: service.label, value: 'true', ownership: 'exclusive', ...verdict };
      }),
  };
}

/** One good pod is enough; one that is on its way out beside it does no harm. */
function podVerdict({ component }: Service, { pods }: NodeSnapshot): Verdict {
  const own = pods.filter((pod) => pod.component === component);
  const good = own.find(({ ready, terminating }) => ready && !terminating);
  if (good) return { stance: 'want', reason: `pod ${good.namespace}/${good.name} is Ready` };
  const other = own.find(({ terminating }) => !terminating) ?? own[0];
  if (!other) return { stance: 'withhold', reason: `no pod of ${component} is on the node` };
  const problem = other.terminating ? 'is terminating' : 'is not Ready';
  return { stance: 'withhold', reason: `pod ${other.namespace}/${other.name} ${problem}` };
}

function agentVerdict({ name }: Service, { freshness, services }: NodeSnapshot): Verdict {
  switch (freshness.state) {
    case 'absent':
      return { stance: 'withhold', reason: 'no agent is on the node, and none has reported' };
    case 'unheard':
      return { stance: 'hold', reason: 'the agent has not been heard yet since this coordinator began to lead' };
    case 'silent':
      if (freshness.guard === undefined)
        return { stance: 'withhold', reason: 'the agent has been silent for too long' };
      return { stance: 'hold', reason: `the agent is silent, and so are most others (guard: ${freshness.guard})` };
    case 'fresh':
    case 'leaving':
      break;
  }
  const report = services.get(name);
  if (!report) return { stance: 'withhold', reason: `the agent does not report on ${name}` };
  const since = `${report.evidence} (since ${report.since})`;
  return { stance: report.ready ? 'want' : 'withhold', reason: since };
}
