import type { Clock } from '@rollcall/common/clock.ts';
import { BodyReader, BodyRefusal, ClientGoneError } from '@rollcall/common/http-body.ts';
import { askLeader, isForwarded, type Leader } from '@rollcall/coordinator/term/leader/ask-leader.ts';
import type { Refusal } from '../scoring/rules.ts';
import type { SchedulingPod } from '../scoring/scheduling-pod.ts';
import { type ExtenderArguments, readArguments } from './arguments.ts';
import type { ExtenderMetrics } from './metrics.ts';
import { type ExtenderResponse, jsonAnswer, type Question, type Responder, refuse, type Verb } from './response.ts';

/** For each node that a request is about, in their order, why the pod cannot go there; `undefined` where it can. */
type Verdicts = readonly (Refusal | undefined)[];

/** Who knows the answers. */
type ExtenderHandler = {
  filter: (pod: SchedulingPod, names: readonly string[]) => Verdicts;
  /** Whole numbers from 0 to 10. */
  prioritize: (pod: SchedulingPod, names: readonly string[]) => readonly number[];
  /** The nodes on which the pod can go once the pods of these uids are gone. */
  preempt: (pod: SchedulingPod, victims: Iterable<readonly [node: string, uids: ReadonlySet<string>]>) => string[];
  /** Labels are there where whole Nodes came. */
  predicate: (
    pod: SchedulingPod,
    nodes: readonly { name: string; labels: Readonly<Record<string, string>> | undefined }[],
  ) => Verdicts;
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
  /** How many nodes there are: so many can be asked about. */
  nodes: () => number;
  /** Largest body; defaults to what a large Pod and that many whole Nodes have, at most 4 MiB. */
  bodyBytesMax?: number;
};

const BODY_BYTES_MAX = 4 * 1024 * 1024;
/** The largest Pod that the API server stores, as two thirds of it may be annotations, and an average whole Node. */
const POD_BYTES = 1024 * 1024;
const NODE_BYTES = 16 * 1024;
/** So many of the largest may be in memory at once. kube-scheduler asks one or two at a time. */
const BODIES_MAX = 4;

/**
 * Answers requests from what this replica knows, while it leads. Every replica answers requests that need no knowledge
 * of nodes at once, with or without a leader: a pod that is not placed here never waits for an election.
 */
export function createResponder(options: ResponderOptions): Responder {
  const { handler, readPod, arrival, leader, metrics, nodes: fleetSize, bodyBytesMax = BODY_BYTES_MAX } = options;
  const bodies = new BodyReader({
    what: 'A question, with the names of nodes alone (nodeCacheCapable: true),',
    bytesMax: () => Math.min(bodyBytesMax, POD_BYTES + NODE_BYTES * fleetSize()),
    totalMax: bodyBytesMax * BODIES_MAX,
  });
  return async (question) => {
    const { verb, request, signal } = question;
    try {
      bodies.check(request);
      const { body, closed } = await bodies.read(request, signal);
      question.onClosed(closed);
      const read = readArguments(body, fleetSize());
      const isWhole = verb === 'preempt' ? !read.victims : read.nodes && !read.names;
      if (isWhole && verb !== 'predicates') {
        return refuse(400, `The extender answers ${verb} only with nodeCacheCapable: true`);
      }
      const pod = readPod(read.pod);
      const isOwn = pod.workspace !== undefined;
      // The predecessor's filter uses labels alone, and whole Nodes bring their labels.
      const needsNodes = isOwn && !isWhole;
      const forward = needsNodes ? leader() : undefined;
      if (forward) return await forward(question, body);
      // What the other verbs are asked comes after an answer of this one.
      if (isOwn && verb === 'filter') await arrival?.(pod.id);
      return answer(verb, pod, read);
    } catch (err) {
      if (err instanceof BodyRefusal) return refuse(err.status, err.message);
      if (err instanceof ClientGoneError) return refuse(408, 'The body of the request did not arrive in time');
      if (!(err instanceof SyntaxError)) throw err;
      // The predecessor reported it in an answer with status 200.
      return verb === 'predicates' ? filterError(err.message) : refuse(400, err.message);
    }
  };

  function answer(verb: Verb, pod: SchedulingPod, read: ExtenderArguments): ExtenderResponse {
    const { names = [], nodes = [], victims = new Map() } = read;
    if (verb === 'prioritize') {
      const scores = handler.prioritize(pod, names);
      return jsonAnswer(names.map((Host, index) => ({ Host, Score: scores[index] ?? 0 })));
    }
    if (verb === 'preempt') {
      const passing = handler.preempt(
        pod,
        victims.entries().map(([node, { uids }]) => [node, uids] as const),
      );
      const kept = passing.map((node) => [node, victims.get(node)?.object]);
      return jsonAnswer({ NodeNameToMetaVictims: Object.fromEntries(kept) });
    }
    const asked = read.names?.map((name) => ({ name, labels: undefined })) ?? nodes;
    const verdicts = verb === 'filter' ? handler.filter(pod, names) : handler.predicate(pod, asked);
    if (pod.workspace !== undefined) count(verdicts);
    return filterResult(read, verdicts);
  }

  function count(verdicts: Verdicts): void {
    const counts = new Map<string, number>();
    for (const verdict of verdicts) {
      const rule = verdict?.rule ?? 'passed';
      counts.set(rule, (counts.get(rule) ?? 0) + 1);
    }
    for (const [rule, number] of counts) metrics.verdicts(rule, number);
  }
}

/**
 * ExtenderFilterResult: the nodes that passed in the form in which they came, and the others with their reasons, all of
 * them beyond preemption: what is short is counted here alone, and kube-scheduler, whose own filters the node has
 * passed, would find nothing to make room by.
 */
export function filterResult({ names, nodes }: ExtenderArguments, verdicts: Verdicts): ExtenderResponse {
  const asked = names ?? nodes?.map(({ name }) => name) ?? [];
  const passed = <T>(list: readonly T[]) => list.filter((_each, index) => !verdicts[index]);
  const reasons = asked.flatMap((name, index) => (verdicts[index] ? [[name, verdicts[index].message]] : []));
  return jsonAnswer({
    Nodes: nodes && !names ? { metadata: {}, items: passed(nodes).map(({ object }) => object) } : null,
    NodeNames: names ? passed(names) : null,
    FailedNodes: null,
    FailedAndUnresolvableNodes: reasons.length > 0 ? Object.fromEntries(reasons) : null,
    Error: '',
  });
}

/** The predecessor's answer to a request that it could not parse: no verdict. */
export function filterError(message: string): ExtenderResponse {
  return jsonAnswer({
    Nodes: null,
    NodeNames: null,
    FailedNodes: null,
    FailedAndUnresolvableNodes: null,
    Error: message,
  });
}

export type ForwardOptions = {
  /** `undefined` while no leader is known. */
  leader: () => Leader | undefined;
  clock: Clock;
};

/** Forwards a request whose body was read, and returns the answer while it arrives. */
export type Forward = (question: Question, body: Buffer) => Promise<ExtenderResponse>;

const TIMEOUT_MS = 500;

/** Forwards requests to the leader, each of them once. */
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
