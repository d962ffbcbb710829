/**
 * `lost`: the agent has just lost a service whose pod is Ready. `unchanged`: it did not see it before either, or does not
 * know. `settled`: the service is ready, or the agent is not the cause why it is not.
 */
export type Sighting = 'lost' | 'unchanged' | 'settled';

/** A sighting of a service on a node, as reported by an agent of this version. */
export type Sighted = { node: string; version: string | undefined; service: string; sighting: Sighting };

/** Doubts what agents say of services. */
export type Observer = {
  /** Records the version of the agent that reports for a node; the empty string for one without a version. */
  sees(node: string, version: string, nowMs: number): void;
  /** Until when a loss of the service on the node is held, if so, by the monotonic clock. Changes nothing. */
  heldUntilMs(sighted: Sighted, nowMs: number): number | undefined;
  record(sighted: Sighted, nowMs: number): void;
};
