/** A condition of an object of ours, in the form that Kubernetes has for them. */
export type Condition<T extends string = string> = {
  type: T;
  status: 'True' | 'False' | 'Unknown';
  reason: string;
  message: string;
  lastTransitionTime: string;
  observedGeneration: number;
};

export type StatusVerdict = Pick<Condition, 'status' | 'reason' | 'message'>;

/** An object as it is written, and what its status says now. `now` is RFC 3339. */
type About = { object: { generation: number; status: unknown }; now: string };

/** A condition that stays as it is keeps its time. */
export function conditionOf<T extends string>(type: T, verdict: StatusVerdict, { object, now }: About): Condition<T> {
  const before = conditionsIn(object.status).find((each) => each?.type === type && each.status === verdict.status);
  const since = before?.lastTransitionTime;
  const lastTransitionTime = typeof since === 'string' ? since : now;
  return { type, ...verdict, lastTransitionTime, observedGeneration: object.generation };
}

type Unchecked = { [K in keyof Condition]?: unknown } | null;

export function conditionsIn(status: unknown): Unchecked[] {
  const { conditions } = (status ?? {}) as { conditions?: unknown };
  return Array.isArray(conditions) ? conditions : [];
}
