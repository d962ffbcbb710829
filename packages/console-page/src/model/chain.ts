import {
  type CauseDocument,
  type KeyDocument,
  type NodeDocument,
  type NodeServiceDocument,
  podsBesideChecks,
} from '@rollcall/common/console.ts';
import { AGENT_WORDS } from '@rollcall/common/console-words.ts';
import { ago, span } from './format.ts';
import type { State } from './node-state.ts';
import { startupWords } from './words.ts';

/** `good`: speaks for ready. `bad`: speaks against it. `open`: unknown, or something is under way. */
type StepVerdict = 'good' | 'bad' | 'open';

/** A link in the chain from what runs on a node to what the Node says. */
export type Step = { title: string; verdict: StepVerdict; text: string };

/** Why the Node says what it says of a service: from the pod to the key, each step with what was seen. */
export function chainOf(service: NodeServiceDocument, node: NodeDocument, nowMs: number): Step[] {
  // The table of keys shows which keys are used; a key that is not watched is left out here.
  const keys = node.keys.filter((key) => key.service === service.name && key.onNode !== undefined);
  return [
    ...checkSteps(service),
    agentStep(node, nowMs),
    ...startupSteps(service, nowMs),
    ...verdictSteps(service, nowMs),
    ...keys.map(keyStep),
  ];
}

/** How a service in the document of a node is shown. */
export function stateOfDocument({ state, heldBack }: NodeServiceDocument): State {
  return state === 'not-ready' && heldBack ? 'held-back' : (state ?? 'none');
}

function checkSteps(service: NodeServiceDocument): Step[] {
  const steps = service.checks.map(({ name, state, reason }) => ({
    title: `Check ${name}`,
    verdict: verdictOf(state),
    text: `${reason}.`,
  }));
  const ofPods = podsBesideChecks(service).map(
    ({ pod, ready, terminating }): Step => ({
      title: 'Pod',
      verdict: ready && !terminating ? 'good' : 'bad',
      text: `${pod} is ${terminating ? 'terminating' : ready ? 'Ready' : 'not Ready'}.`,
    }),
  );
  return [...ofPods, ...steps];
}

function agentStep({ agent, replica }: NodeDocument, nowMs: number): Step {
  const { state, guard, lastReportSecondsAgo } = agent;
  const atMs = Date.parse(replica.now) - (lastReportSecondsAgo ?? 0) * 1000;
  const heard = lastReportSecondsAgo === undefined ? '' : `, last report ${ago(atMs, nowMs)}`;
  const verdict: StepVerdict = state === 'fresh' ? 'good' : state === 'silent' && guard === undefined ? 'bad' : 'open';
  const guarded = guard === undefined ? '' : ` The guard over ${guard} keeps its silence from being held against it.`;
  const limit = state === 'silent' ? ` It counts as silent after ${span(replica.staleAfterSeconds)}.` : '';
  return { title: 'Agent', verdict, text: `The agent is ${AGENT_WORDS[state]}${heard}.${limit}${guarded}` };
}

function startupSteps({ starting }: NodeServiceDocument, nowMs: number): Step[] {
  if (!starting) return [];
  return [
    { title: 'Startup', verdict: 'open', text: `It was never ready on this node, ${startupWords(starting, nowMs)}.` },
  ];
}

function verdictSteps(service: NodeServiceDocument, nowMs: number): Step[] {
  const { state, since, reason, evidence, heldBack } = service;
  if (state === undefined) return [{ title: 'Verdict', verdict: 'open', text: 'The node is not for this service.' }];
  const verdict = verdictOf(state);
  const when = since === undefined ? '' : ` since ${ago(since, nowMs).replace(/ ago$/, '')}`;
  const steps: Step[] = [
    {
      title: 'Verdict',
      verdict,
      text: `${state.replace('-', ' ')}${when}${reason === undefined ? '' : `: ${reason}`}.`,
    },
  ];
  if (evidence) {
    const text = `The evidence alone says ${evidence.state.replace('-', ' ')}: ${evidence.reason}.`;
    steps.splice(0, 0, { title: 'Evidence', verdict: verdictOf(evidence.state), text });
  }
  if (heldBack) {
    const left = span((Date.parse(heldBack.until) - nowMs) / 1000);
    const text = `It fell ${heldBack.falls} times in a short while, and is held back for another ${left}.`;
    steps.push({ title: 'Held back', verdict: 'open', text });
  }
  return steps;
}

function verdictOf(state: 'ready' | 'not-ready' | 'unknown'): StepVerdict {
  return state === 'ready' ? 'good' : state === 'not-ready' ? 'bad' : 'open';
}

const KIND_WORDS = { label: 'Label', taint: 'Taint', annotation: 'Annotation', condition: 'Condition' } as const;

function keyStep({ kind, agrees, cause }: KeyDocument): Step {
  return { title: KIND_WORDS[kind], verdict: AGREEMENT[agrees], text: sentencesOf(cause) };
}

/** Whether the Node shows what is wanted of a key. */
export const AGREEMENT = { yes: 'good', no: 'bad', open: 'open' } as const;

export function sentencesOf({ headline, next }: CauseDocument): string {
  return `${headline}. ${next}`;
}
