/** How long a node may be silent after its agent said goodbye, unless the window is longer. */
export const LEAVING_GRACE_MS = 120_000;

/** How well a node is heard. */
export type Freshness =
  /** Its agent reported within the window. */
  | { state: 'fresh' }
  /** Its agent said goodbye; silence counts later than usual. */
  | { state: 'leaving' }
  /** Not heard since silence was last counted anew; it has some time to report. */
  | { state: 'unheard' }
  /** Not heard for longer than the window. `guard` names why that is not held against it. */
  | { state: 'silent'; guard?: string }
  /** There is no agent on this node, and none has reported in this term or, as far as the Node shows, before. */
  | { state: 'absent' }
  /** No node has an agent, as configured. */
  | { state: 'none' };

/** What decides how well a node is heard in one term. Times are monotonic milliseconds. */
export type Presence = {
  pool: string | undefined;
  /** The last report that was accepted since silence was last counted anew. */
  heardMs: number | undefined;
  /** The goodbye of the last session that spoke, until another one is heard. */
  goodbyeMs: number | undefined;
  /** Since when an agent is expected: its pod is there, or it was heard in this term. */
  expectedMs: number | undefined;
  /** When silence was last counted anew: the term began, the API server came back, or a guard cleared. */
  renewedMs: number;
  /** An agent was heard in this term, or by the term before. Only such a node counts in guards. */
  wasHeard: boolean;
  /** A session has spoken, and has not said goodbye. */
  hasVoice: boolean;
  /** The guard that protected the node at the last tick. */
  guard: string | undefined;
};

/** Signs of the agent on the Node and its pods when a record begins. */
export type AgentSigns = {
  /** A pod of an agent is there, or the Node shows that the term before has heard one. */
  isExpected: boolean;
  /** The term before has heard an agent. */
  wasHeard: boolean;
  /** An agent may have said goodbye to the term before: its pod is gone, or new and not Ready. */
  mayHaveLeft: boolean;
};

/** Computes from when on a node counts as silent, or as absent if no agent is expected. */
export function silentFromMs({ heardMs, goodbyeMs, expectedMs, renewedMs }: Presence, windowMs: number): number {
  let lastMs = renewedMs;
  if (heardMs !== undefined && heardMs > lastMs) lastMs = heardMs;
  if (expectedMs !== undefined && expectedMs > lastMs) lastMs = expectedMs;
  if (goodbyeMs === undefined) return lastMs + windowMs;
  return Math.max(lastMs + windowMs, goodbyeMs + Math.max(LEAVING_GRACE_MS, windowMs));
}

/** The state of a node at a moment, as a function of the facts alone. */
export function freshnessOf(presence: Presence, nowMs: number, windowMs: number): Freshness {
  const { heardMs, goodbyeMs, expectedMs, guard } = presence;
  if (nowMs >= silentFromMs(presence, windowMs)) {
    if (expectedMs === undefined) return { state: 'absent' };
    return guard === undefined ? { state: 'silent' } : { state: 'silent', guard };
  }
  if (heardMs === undefined) return { state: 'unheard' };
  return { state: goodbyeMs === undefined ? 'fresh' : 'leaving' };
}

/**
 * Whether a node is not heard for half the window before it counts as silent. Guards count such nodes: agents that stop
 * at one moment fall silent one after the other, and the guard must hold before the first of them would lose its label.
 */
export function isOverdue(silentMs: number, nowMs: number, windowMs: number): boolean {
  return nowMs >= silentMs - windowMs / 2;
}
