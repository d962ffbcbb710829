import type { Refusal } from '../scoring/rules.ts';
import type { ExtenderArguments, NodeItem } from './arguments.ts';
import type { ExtenderResponse } from './response.ts';
import { jsonAnswer } from './response.ts';

/** For each node that was asked about, in their order, why the pod cannot go there. */
type Verdicts = readonly (Refusal | undefined)[];

/** The names of the nodes that a question is about. */
export function nodeNames({ names, items }: ExtenderArguments): readonly string[] {
  return names ?? items?.map(({ name }) => name) ?? [];
}

/**
 * ExtenderFilterResult: the nodes that passed in the form in which they came, whole ones byte for byte, and the others
 * with their reasons, all of them beyond preemption: what is short is counted here alone, and kube-scheduler, whose own
 * filters the node has passed, would find nothing to make room by.
 */
export function filterResult(question: ExtenderArguments, verdicts: Verdicts, body: Buffer): ExtenderResponse {
  const { names, items } = question;
  const rest = JSON.stringify({
    FailedNodes: null,
    FailedAndUnresolvableNodes: reasons(nodeNames(question), verdicts),
    Error: '',
  }).slice(1);
  const passed = names ? JSON.stringify(names.filter((_name, index) => !verdicts[index])) : 'null';
  const tail = `"NodeNames":${passed},${rest}`;
  if (names || !items) return { status: 200, type: 'application/json', body: [`{"Nodes":null,${tail}`] };
  return {
    status: 200,
    type: 'application/json',
    body: ['{"Nodes":{"metadata":{},"items":[', ...passedItems(items, verdicts, body), `]},${tail}`],
  };
}

/** Without a verdict, as the predecessor tells that it could not make sense of a question. */
export function filterError(message: string): ExtenderResponse {
  return jsonAnswer({
    Nodes: null,
    NodeNames: null,
    FailedNodes: null,
    FailedAndUnresolvableNodes: null,
    Error: message,
  });
}

/** HostPriorityList. */
export function priorityResult(names: readonly string[], scores: readonly number[]): ExtenderResponse {
  return jsonAnswer(names.map((Host, index) => ({ Host, Score: scores[index] ?? 0 })));
}

function reasons(names: readonly string[], verdicts: Verdicts): Record<string, string> | null {
  // A node's name is data: one called __proto__ is a key like any other.
  const found: Record<string, string> = Object.create(null);
  let any = false;
  for (const [index, name] of names.entries()) {
    const refusal = verdicts[index];
    if (!refusal) continue;
    found[name] = refusal.message;
    any = true;
  }
  return any ? found : null;
}

/** The text of the nodes that passed. Neighbors stay one piece, with whatever stood between them. */
function passedItems(items: readonly NodeItem[], verdicts: Verdicts, body: Buffer): (string | Buffer)[] {
  const pieces: (string | Buffer)[] = [];
  for (let first = 0; first < items.length; first += 1) {
    if (verdicts[first]) continue;
    let last = first;
    while (last + 1 < items.length && !verdicts[last + 1]) last += 1;
    if (pieces.length > 0) pieces.push(',');
    pieces.push(body.subarray(items[first]?.start, items[last]?.end));
    first = last;
  }
  return pieces;
}
