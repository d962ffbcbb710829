import { podsOf } from '../../fleet/service-pods.ts';
import type { NodeSnapshot } from '../../fleet/snapshot.ts';
import { answer } from '../../inventory/answer.ts';
import type { DeviceRequirement, Service } from '../../setup/services.ts';

/** Whether a service is ready on a node, with the evidence as a sentence for people. */
export type Verdict = {
  /** `unknown`: nobody can tell now, so that things stay as they are. */
  state: 'ready' | 'not-ready' | 'unknown';
  reason: string;
  /** Not ready for want of a word of the agent alone: nobody has seen that it is gone. */
  bySilence?: true;
};

/** An agent that is told of a service and does not report on it for longer does not know how. */
const TOLD_MS = 30_000;

/**
 * Ready means that all evidence says so that the service asks for: a pod of it on the node is Ready and not terminating,
 * the agent's probe says so and the agent was heard lately, the CSINode lists its driver, the agent saw the devices. What
 * pods and CSINodes say counts at once, also while the agent does not speak, whose silence says nothing of devices. `nowMs`
 * is monotonic.
 */
export function judgeService(service: Service, snapshot: NodeSnapshot, nowMs: number): Verdict {
  const { pods, csiDriver, probe, devices = [] } = service;
  const verdicts: Verdict[] = [];
  if (pods && !pods.optional) verdicts.push(podVerdict(service, snapshot));
  if (csiDriver !== undefined) verdicts.push(csiVerdict(csiDriver, snapshot));
  for (const device of devices) verdicts.push(deviceVerdict(device, snapshot));
  if (probe) verdicts.push(agentVerdict(service, snapshot, nowMs));
  const worst =
    verdicts.find(({ state }) => state === 'not-ready') ?? verdicts.find(({ state }) => state === 'unknown');
  return worst ?? { state: 'ready', reason: verdicts.map(({ reason }) => reason).join('; ') };
}

function csiVerdict(driver: string, { csiNode, uid }: NodeSnapshot): Verdict {
  if (csiNode === 'unknown') return { state: 'unknown', reason: 'the CSINodes have not been listed yet' };
  if (csiNode === 'none') return { state: 'not-ready', reason: 'the node has no CSINode' };
  if (csiNode.nodeUid !== uid)
    return { state: 'not-ready', reason: 'the CSINode belongs to an earlier Node of this name' };
  if (!csiNode.drivers.includes(driver)) return { state: 'not-ready', reason: `the CSINode does not list ${driver}` };
  return { state: 'ready', reason: `the CSINode lists ${driver}` };
}

const STATE = { yes: 'ready', no: 'not-ready', unknown: 'unknown' } as const;

function deviceVerdict({ text, term }: DeviceRequirement, { freshness, inventory }: NodeSnapshot): Verdict {
  if (freshness.state === 'absent' && !inventory.devices) {
    return { state: 'not-ready', reason: `${text} is required, but no agent is on the node, and none has reported` };
  }
  const { truth, found } = answer(term, inventory);
  return { state: STATE[truth], reason: truth === 'no' ? `${text} is required, but ${found}` : found };
}

/** Whether a pod of the service on the node is Ready, and not on its way out. */
export function hasReadyPod(service: Service, snapshot: NodeSnapshot): boolean {
  return podVerdict(service, snapshot).state === 'ready';
}

/** One good pod is enough; one that is on its way out beside it does no harm. */
function podVerdict(service: Service, { pods, podsKnown }: NodeSnapshot): Verdict {
  const { namespace = '' } = service.pods ?? {};
  if (!podsKnown(namespace)) {
    return { state: 'unknown', reason: `the pods in ${namespace} have not been listed yet` };
  }
  const own = podsOf(service, pods);
  const good = own.find(({ ready, terminating }) => ready && !terminating);
  if (good) return { state: 'ready', reason: `pod ${good.namespace}/${good.name} is Ready` };
  const other = own.find(({ terminating }) => !terminating) ?? own[0];
  if (!other) return { state: 'not-ready', reason: `no pod of ${service.name} is on the node` };
  const problem = other.terminating ? 'is terminating' : 'is not Ready';
  return { state: 'not-ready', reason: `pod ${other.namespace}/${other.name} ${problem}` };
}

function agentVerdict(service: Service, { freshness, services, toldMs }: NodeSnapshot, nowMs: number): Verdict {
  const { name, origin } = service;
  switch (freshness.state) {
    case 'absent':
      return { state: 'not-ready', reason: 'no agent is on the node, and none has reported', bySilence: true };
    case 'unheard':
      return { state: 'unknown', reason: 'the agent has not reported to this leader yet' };
    case 'silent':
      if (freshness.guard === undefined)
        return { state: 'not-ready', reason: 'the agent has been silent for too long', bySilence: true };
      return { state: 'unknown', reason: `the agent is silent, and so are most others (guard: ${freshness.guard})` };
    case 'fresh':
    case 'leaving':
      break;
  }
  const report = services.get(name);
  if (!report && origin.kind === 'object' && nowMs - (toldMs.get(service) ?? nowMs) < TOLD_MS) {
    return { state: 'unknown', reason: `the agent has just been told about ${name}` };
  }
  if (!report) return { state: 'not-ready', reason: `the agent does not report on ${name}`, bySilence: true };
  if (report.unknown) return { state: 'unknown', reason: report.evidence };
  return { state: report.ready ? 'ready' : 'not-ready', reason: report.evidence };
}
