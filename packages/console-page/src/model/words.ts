import type { DriftCause, NodeSummary } from '@rollcall/common/console.ts';
import { AGENT_WORDS } from '@rollcall/common/console-words.ts';
import { type Counts, type State, stateOfNode, TROUBLES } from './node-state.ts';

/** The name of each state, and its meaning for an operator who was just woken up. */
export const STATE_WORDS: Readonly<Record<State, { name: string; meaning: string }>> = {
  ready: { name: 'Ready', meaning: 'Pods and agent agree that every service is ready.' },
  'not-ready': { name: 'Not ready', meaning: 'At least one service is not ready. Its label is withdrawn.' },
  'held-back': {
    name: 'Held back',
    meaning: 'A service came and went too often. It counts as not ready until it has been steady for a while.',
  },
  silent: { name: 'Silent', meaning: 'The agent is not heard any more, so the state of the services is not known.' },
  guarded: {
    name: 'Guarded',
    meaning: 'The agent is silent, but so are most others: the network is doubted, and labels stay.',
  },
  unknown: { name: 'Unknown', meaning: 'The state is not known yet. The keys of the node stay as they are.' },
  none: { name: 'No service', meaning: 'The node is for none of the services.' },
};

/** Why a Node said what was not so: in a word, and in a sentence. */
export const CAUSE_WORDS: Readonly<Record<DriftCause, { name: string; meaning: string }>> = {
  unwritten: {
    name: 'not written yet',
    meaning: 'The write was under way, or the API server could not be written to.',
  },
  'held-back': { name: 'held back', meaning: 'The service came and went too often.' },
  guarded: { name: 'guarded', meaning: 'A guard kept it.' },
  contested: { name: 'contested', meaning: 'Another client keeps changing it.' },
  foreign: { name: 'not ours', meaning: 'Another client owns it, or the API server refuses it.' },
  'dry-run': { name: 'dry run', meaning: 'Another program writes it: rollcall is in a dry run.' },
};

/** The state of the fleet in one sentence: the first thing to read. */
export function fleetSentence(total: number, counts: Counts): string {
  if (total === 0) return 'There are no nodes.';
  const [worst, ...others] = TROUBLES.filter((state) => counts[state] > 0);
  if (worst === undefined) return wellSentence(total, counts.none);
  const isAre = counts[worst] === 1 ? 'is' : 'are';
  const rest = others.map((state) => `${number(counts[state])} ${STATE_WORDS[state].name.toLowerCase()}`);
  const first = `${number(counts[worst])} of ${plural(total, 'node')} ${isAre} ${STATE_WORDS[worst].name.toLowerCase()}`;
  return `${[first, ...rest].join(', ')}.`;
}

/** `none`: on so many nodes nothing is checked. */
function wellSentence(total: number, none: number): string {
  if (none === total)
    return `Nothing is checked on ${total === 1 ? 'the only node' : `any of the ${number(total)} nodes`}.`;
  if (none > 0) return `Ready: ${number(total - none)} of ${plural(total, 'node')}. Nothing is checked on the others.`;
  return total === 1 ? 'The only node is ready.' : `All ${number(total)} nodes are ready.`;
}

/** A node in one sentence, for a tooltip and for a screen reader. */
export function nodeSentence(node: NodeSummary): string {
  const state = stateOfNode(node);
  const parts = [STATE_WORDS[state].name.toLowerCase()];
  const down = Object.entries(node.services).filter(([, service]) => service !== 'ready');
  if (down.length > 0) parts.push(down.map(([name, service]) => `${name} ${service.replace('-', ' ')}`).join(', '));
  const { starting = [], lifecycle = [] } = node;
  if (starting.length > 0) parts.push(`never ready yet: ${starting.map(({ service }) => service).join(', ')}`);
  if (lifecycle.length > 0) parts.push(lifecycle.join(', '));
  if (node.agent !== 'fresh' && node.agent !== 'none') parts.push(`agent ${AGENT_WORDS[node.agent]}`);
  if (node.guard !== undefined) parts.push(`guard over ${node.guard}`);
  if (node.contested.length > 0) parts.push(`${plural(node.contested.length, 'contested key')}`);
  if (node.skipped.length > 0) parts.push(`${plural(node.skipped.length, 'key')} left to another owner`);
  return parts.join('; ');
}

export function number(value: number): string {
  return value.toLocaleString('en');
}

export function plural(count: number, noun: string): string {
  return `${number(count)} ${noun}${count === 1 ? '' : 's'}`;
}
