import type { Clock } from '@rollcall/common/clock.ts';
import { askLeader, isForwarded, type Leader } from '../../term/leader/ask-leader.ts';
import type { Refusal } from '../scoring/rules.ts';
import type { SchedulingPod } from '../scoring/scheduling-pod.ts';
import { type ExtenderArguments, type NodeItem, readArguments, readFirstPod } from './arguments.ts';
import { BodyBudget, readBody } from './body.ts';
import type { ExtenderMetrics } from './metrics.ts';
import { type ExtenderResponse, jsonAnswer, type Question, type Responder, refuse, type Verb } from './response.ts';

/** Who knows the answers. Each list is in the order of the nodes; `undefined` is a node where the pod may go. */
type ExtenderHandler = {
  filter: (pod: SchedulingPod, names: readonly string[]) => readonly (Refusal | undefined)[];
  /** Whole numbers from 0 to 10. */
  prioritize: (pod: SchedulingPod, names: readonly string[]) => readonly number[];
  /** Labels are there where whole Nodes came. */
  predicate: (
    pod: SchedulingPod,
    nodes: readonly { name: string; labels: Readonly<Record<string, string>> | undefined }[],
  ) => readonly (Refusal | undefined)[];
};

export type ResponderOptions = {
  handler: ExtenderHandler;
  /** Reads a Pod from whatever JSON it is, and says whether it is one that is placed here. */
  readPod: (pod: unknown) => SchedulingPod;
  /** Resolves when what is answered about the pod can be kept in mind, or soon; `undefined` where it is so already. */
  arrival?: (podId: string) => Promise<void> | undefined;
  /** Asks the leader; `undefined` where this replica is the one. */
  leader: () => Forward | undefined;
  metrics: Pick<ExtenderMetrics, 'verdicts'>;
  /** Largest body; defaults to 256 MiB: 5,000 whole Nodes are 110 MB. */
  bodyBytesMax?: number;
};

const BODY_BYTES_MAX = 256 * 1024 * 1024;
/** Memory for all questions at once, in shares of the largest. kube-scheduler asks one or two at a time. */
const BODIES_SHARE = 1.5;

/**
 * Answers questions from what this replica knows, while it leads. Every replica answers questions that need no
 * knowledge of nodes at once, with or without a leader: a pod that is not placed here never waits for an election.
 */
export function createResponder(options: ResponderOptions): Responder {
  const { handler, readPod, arrival, leader, metrics, bodyBytesMax } = options;
  const bytesMax = bodyBytesMax ?? BODY_BYTES_MAX;
  const budget = new BodyBudget({ bytesMax, totalMax: bytesMax * BODIES_SHARE });
  return async (question) => {
    const body = await readBody(question, budget);
    if (!Buffer.isBuffer(body)) return body;
    const { verb } = question;
    // Of what is passed on anyway, nodes are not read.
    if (verb !== 'predicates' && isOwn(readFirstPod(body))) {
      const forward = leader();
      if (forward) return forward(question, body);
    }
    const read = await readArguments(body, () => breathe(question)).catch((err: unknown) => {
      if (err instanceof SyntaxError) return malformed(verb, err.message);
      throw err;
    });
    if ('status' in read) return read;
    const forward = takesNoState(verb, read) ? undefined : leader();
    return forward ? forward(question, body) : answer(verb, read, body);
  };

  function isOwn(pod: unknown): boolean {
    return readPod(pod).workspace !== undefined;
  }

  /** The predecessor's filter uses labels alone, and whole Nodes bring their labels. */
  function takesNoState(verb: Verb, { pod, names, items }: ExtenderArguments): boolean {
    return !isOwn(pod) || (verb === 'predicates' && names === undefined && items !== undefined);
  }

  async function answer(verb: Verb, read: ExtenderArguments, body: Buffer): Promise<ExtenderResponse> {
    const pod = readPod(read.pod);
    if (pod.workspace !== undefined && verb !== 'predicates') await arrival?.(pod.id);
    const names = nodeNames(read);
    if (verb === 'prioritize') return priorityResult(names, handler.prioritize(pod, names));
    const verdicts = verb === 'filter' ? handler.filter(pod, names) : handler.predicate(pod, labelledNodes(read));
    if (pod.workspace !== undefined) count(verdicts);
    return filterResult(read, verdicts, body);
  }

  function count(verdicts: readonly (Refusal | undefined)[]): void {
    const counts = new Map<string, number>();
    for (const verdict of verdicts) {
      const rule = verdict?.rule ?? 'passed';
      counts.set(rule, (counts.get(rule) ?? 0) + 1);
    }
    for (const [rule, number] of counts) metrics.verdicts(rule, number);
  }
}

function labelledNodes({ names, items }: ExtenderArguments) {
  return names?.map((name) => ({ name, labels: undefined })) ?? items ?? [];
}

/** The predecessor reported it in an answer with status 200. */
function malformed(verb: Verb, problem: string): ExtenderResponse {
  return verb === 'predicates' ? filterError(problem) : refuse(400, problem);
}

/** Lets other work have its turn. Throws when the client no longer waits for the answer. */
async function breathe({ signal }: Question): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
  signal.throwIfAborted();
}

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

/** The predecessor's answer to a question that it could not parse: no verdict. */
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

export type ForwardOptions = {
  /** `undefined` while no leader is known. */
  leader: () => Leader | undefined;
  clock: Clock;
};

/** Forwards a question whose body was read, and returns the answer while it arrives. */
export type Forward = (question: Question, body: Buffer) => Promise<ExtenderResponse>;

const TIMEOUT_MS = 2_000;

/** Forwards questions to the leader, each of them once. */
export function createForward({ leader, clock }: ForwardOptions): Forward {
  return async ({ request, signal }, body) => {
    if (isForwarded(request)) return refuse(503, 'The request was forwarded to this replica, which does not lead');
    const known = leader();
    if (!known) return refuse(503, 'No leader is known');
    const headers = ['content-type'];
    const response = await askLeader(known, { request, headers, body, signal, timeoutMs: TIMEOUT_MS, clock });
    if (!response) return refuse(503, 'The leader did not answer');
    const { 'content-type': type = 'application/json', 'content-length': length } = response.headers;
    const given = length === undefined ? {} : { headers: { 'content-length': length } };
    return { status: response.statusCode ?? 503, type, body: response, ...given };
  };
}
