import type { NodeDocument, NodeServiceDocument, StepDocument } from './console.ts';
import { AGENT_WORDS } from './console-words.ts';
import { ago, duration, startupWords } from './duration.ts';

type Facts = Omit<NodeServiceDocument, 'steps'>;

/** How a service came to its verdict on a node: from its pods to the verdict, each step with what was seen. */
export function stepsOf(service: Facts, { agent, replica }: Pick<NodeDocument, 'agent' | 'replica'>): StepDocument[] {
  const { checks, state, since, reason, evidence, starting, heldBack } = service;
  const steps: StepDocument[] = [];
  const add = (title: string, speaks: StepDocument['speaks'], text: string) => steps.push({ title, speaks, text });
  for (const { pod, ready, terminating } of podsBesideChecks(service)) {
    const is = terminating ? 'is terminating' : ready ? 'is Ready' : 'is not Ready';
    add('pod', ready && !terminating ? 'for' : 'against', `${pod} ${is}`);
  }
  for (const check of checks)
    add('check', speaksOf(check.state), `${check.name} ${CHECK_WORDS[check.state]}: ${check.reason}`);
  const heard = agent.lastReportSecondsAgo === undefined ? '' : `, last ${agent.lastReportSecondsAgo} s ago`;
  const version = agent.version === undefined ? '' : `, version ${agent.version}`;
  const guarded = agent.guard === undefined ? '' : `; a guard over ${agent.guard} delays what follows from its silence`;
  add('report', agent.state === 'fresh' ? 'for' : 'neither', `${AGENT_WORDS[agent.state]}${heard}${version}${guarded}`);
  if (starting) add('startup', 'neither', `never ready yet; node ${startupWords(starting, replica.now)}`);
  if (evidence) add('evidence', speaksOf(evidence.state), `${evidence.state}: ${evidence.reason}`);
  const sinceText = since === undefined ? '' : `, since ${ago(since, replica.now)}`;
  const why = reason === undefined ? '' : `: ${reason}`;
  add('verdict', speaksOf(state), `${state ?? 'does not apply to this node'}${sinceText}${why}`);
  if (heldBack) {
    const left = duration(Date.parse(heldBack.until) - Date.parse(replica.now));
    add('held back', 'neither', `for another ${left}: it became not ready ${heldBack.falls} times in 5 minutes`);
  }
  return steps;
}

const CHECK_WORDS = { ready: 'passes', 'not-ready': 'fails', unknown: 'is unknown' } as const;

function speaksOf(state: NodeServiceDocument['state']): StepDocument['speaks'] {
  return state === 'ready' ? 'for' : state === 'not-ready' ? 'against' : 'neither';
}

/** The pods of a service that none of its checks names: a check that is about a pod does. */
function podsBesideChecks({ checks, pods }: Facts): NodeServiceDocument['pods'] {
  const words = new Set(checks.flatMap(({ reason }) => reason.split(/[\s,;:]+/)));
  return pods.filter(({ pod }) => !words.has(pod));
}
