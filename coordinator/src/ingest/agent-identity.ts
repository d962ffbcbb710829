import { REPORT_AUDIENCE } from '@rollcall/common/well-known.ts';
import { ReportRefusal, unauthenticated } from './report-refusal.ts';
import type { TokenClaims } from './token-claims.ts';

/** The answer of the API server to a TokenReview for our audience. */
export type TokenReviewResult = {
  authenticated: boolean;
  username?: string | undefined;
  uid?: string | undefined;
  extra?: Readonly<Record<string, readonly string[]>> | undefined;
  /** Why it was not authenticated, in the API server's words. */
  error?: string | undefined;
};

/** The agent behind a token: the pod that it is bound to, on the node where that pod is as watched. */
export type AgentIdentity = {
  node: string;
  pod: { name: string; uid: string };
  /** When the token was issued, in seconds since the epoch. Absent when the token does not say. */
  issuedAtSeconds?: number;
};

/** The node of an agent's pod as watched; `undefined` when there is none of this name and uid. */
export type AgentPodNode = (pod: { name: string; uid: string }) => string | undefined;

export type TokenDecision = { identity: AgentIdentity } | { refusal: ReportRefusal };

/**
 * The identity that the token would prove if it were genuine. A token that cannot be an agent's is refused without a
 * request to the API server: 401 without our audience, or without a pod that exists now; 403 for another account.
 */
export function claimedIdentity(
  { audiences, subject, pod, nodeName, issuedAt }: TokenClaims,
  username: string,
  agentPodNode: AgentPodNode,
): TokenDecision {
  if (!audiences.includes(REPORT_AUDIENCE)) return refused(`The token is not for the audience ${REPORT_AUDIENCE}`);
  if (subject !== username) return { refusal: otherAccount(subject, username) };
  if (!pod) return refused('The token is not bound to a pod: mount a projected token of the pod');
  const node = agentPodNode(pod);
  if (node === undefined) return refused(`No pod ${pod.name} with uid ${pod.uid} is among the agents' pods`);
  if (nodeName !== undefined && nodeName !== node) return refused(`The pod of the token is not on node ${nodeName}`);
  return { identity: { node, pod, ...(issuedAt === undefined ? {} : { issuedAtSeconds: issuedAt }) } };
}

/** Returns the refusal if the API server does not accept the token for the claimed identity. */
export function reviewedRefusal(
  review: TokenReviewResult,
  username: string,
  { pod, node }: AgentIdentity,
): ReportRefusal | undefined {
  if (!review.authenticated) {
    const reason = review.error ? `: ${review.error.slice(0, 300)}` : '';
    return unauthenticated(`The API server does not accept this token${reason}`, 'invalid_token');
  }
  if (review.username !== username) return otherAccount(review.username, username);
  const extra = (key: string) => review.extra?.[`authentication.kubernetes.io/${key}`]?.[0];
  if (extra('pod-uid') !== pod.uid || (extra('node-name') ?? node) !== node) {
    return unauthenticated('According to the API server, the token belongs to another pod or node', 'invalid_token');
  }
  return undefined;
}

function refused(detail: string): { refusal: ReportRefusal } {
  return { refusal: unauthenticated(detail, 'invalid_token') };
}

function otherAccount(subject: string | undefined, username: string): ReportRefusal {
  return new ReportRefusal(
    403,
    `The token belongs to ${subject ?? 'an unknown user'}, and reports come from ${username}`,
  );
}
