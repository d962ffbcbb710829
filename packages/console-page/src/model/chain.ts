import type { CauseDocument, KeyDocument, NodeDocument, NodeServiceDocument } from '@rollcall/common/console.ts';
import type { State } from './node-state.ts';

/** `good`: speaks for ready. `bad`: speaks against it. `open`: unknown, or something is under way. */
type StepVerdict = 'good' | 'bad' | 'open';

/** A link in the chain from what runs on a node to what the Node says. */
export type Step = { title: string; verdict: StepVerdict; text: string };

/** Why the Node says what it says of a service: from the pod to the key, each step with what was seen. */
export function chainOf({ name, steps }: NodeServiceDocument, { keys }: Pick<NodeDocument, 'keys'>): Step[] {
  // The table of keys shows which keys are used; a key that is not watched is left out here.
  const shown = keys.filter((key) => key.service === name && key.onNode !== undefined);
  return [...steps.map(({ title, speaks, text }) => ({ title, verdict: SPEAKS[speaks], text })), ...shown.map(keyStep)];
}

const SPEAKS = { for: 'good', against: 'bad', neither: 'open' } as const;

/** How a service in the document of a node is shown. */
export function stateOfDocument({ state, heldBack }: NodeServiceDocument): State {
  return state === 'not-ready' && heldBack ? 'held-back' : (state ?? 'none');
}

function keyStep({ kind, agrees, cause }: KeyDocument): Step {
  return { title: kind, verdict: AGREEMENT[agrees], text: sentencesOf(cause) };
}

/** Whether the Node shows what is wanted of a key. */
export const AGREEMENT = { yes: 'good', no: 'bad', open: 'open' } as const;

export function sentencesOf({ headline, next }: CauseDocument): string {
  return `${headline}. ${next}`;
}
