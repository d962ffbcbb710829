import type { Refusal } from '../scoring/rules.ts';
import type { SchedulingPod } from '../scoring/scheduling-pod.ts';
import { type ExtenderArguments, readArguments, readFirstPod } from './arguments.ts';
import { BodyBudget, readBody } from './body.ts';
import type { Forward } from './forward.ts';
import type { ExtenderMetrics } from './metrics.ts';
import { type ExtenderResponse, type Question, type Responder, refuse, type Verb } from './response.ts';
import { filterError, filterResult, nodeNames, priorityResult } from './result.ts';

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
/** Of all questions at once, in shares of the largest; kube-scheduler asks one or two at a time. */
const BODIES_SHARE = 1.5;

/**
 * Answers questions out of what this replica knows, where it leads. What takes no knowledge of nodes is answered by any
 * replica at once, whether somebody leads or not: a pod that is not placed here never waits for an election.
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

  /** The predecessor's filter goes by labels alone, and whole Nodes bring theirs. */
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

/** The predecessor told of it in an answer with status 200. */
function malformed(verb: Verb, problem: string): ExtenderResponse {
  return verb === 'predicates' ? filterError(problem) : refuse(400, problem);
}

/** Lets other work have its turn. Throws when nobody waits for the answer any more. */
async function breathe({ signal }: Question): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
  signal.throwIfAborted();
}
