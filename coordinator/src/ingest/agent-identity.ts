import { ReportRefusal, unauthenticated } from './report-refusal.ts';

/** What the API server answered to a TokenReview for our audience. */
export type TokenReviewResult = {
  authenticated: boolean;
  username?: string | undefined;
  uid?: string | undefined;
  extra?: Readonly<Record<string, readonly string[]>> | undefined;
  /** Why it was not authenticated, in the API server's words. */
  error?: string | undefined;
};

/** The agent behind a token, as the API server vouches for it. */
export type AgentIdentity = {
  node: string;
  /** Uid of the Node that the token is bound to. Absent where the API server does not say (before 1.32). */
  nodeUid?: string;
  pod?: { name: string; uid: string };
  /** When the token was issued, in seconds since the epoch. Absent when the token does not say. */
  issuedAtSeconds?: number;
};

/** Finds the agent's pod as watched; `undefined` when there is none of this name and uid. */
export type AgentPodLookup = (name: string, uid: string) => { nodeName: string } | undefined;

const EXTRA = {
  nodeName: 'authentication.kubernetes.io/node-name',
  nodeUid: 'authentication.kubernetes.io/node-uid',
  podName: 'authentication.kubernetes.io/pod-name',
  podUid: 'authentication.kubernetes.io/pod-uid',
} as const;

/** What a token is worth. `passing`: the refusal is about what may be known here a moment later. */
export type Verdict = { identity: AgentIdentity } | { refusal: ReportRefusal; passing?: boolean };

/**
 * Who a token belongs to: 401 when the API server did not accept it, 403 when it is another account's or does not lead
 * to a node. Since 1.32 the API server says on which node the pod runs (KEP-4193); of an older one the pod is known,
 * and its node is looked up.
 */
export function identifyAgent(review: TokenReviewResult, username: string, agentPod: AgentPodLookup): Verdict {
  if (!review.authenticated) {
    const reason = review.error ? `: ${review.error.slice(0, 300)}` : '';
    return { refusal: unauthenticated(`The API server does not accept this token${reason}`, 'invalid_token') };
  }
  if (review.username !== username) {
    return forbidden(`The token belongs to ${review.username ?? 'nobody'}, and reports come from ${username}`);
  }
  const [nodeName, nodeUid, podName, podUid] = [EXTRA.nodeName, EXTRA.nodeUid, EXTRA.podName, EXTRA.podUid].map(
    (key) => review.extra?.[key]?.[0],
  );
  const pod = podName && podUid ? { name: podName, uid: podUid } : undefined;
  if (nodeName) return { identity: { node: nodeName, ...(nodeUid ? { nodeUid } : {}), ...(pod ? { pod } : {}) } };
  if (!pod) return forbidden('The token is bound to neither a node nor a pod: mount a projected token of the pod');
  const found = agentPod(pod.name, pod.uid);
  if (found) return { identity: { node: found.nodeName, pod } };
  const missing = `no pod ${pod.name} with uid ${pod.uid} is known among the agents' pods`;
  return { ...forbidden(`The token names no node, and ${missing}`), passing: true };
}

function forbidden(detail: string): { refusal: ReportRefusal } {
  return { refusal: new ReportRefusal(403, detail) };
}
